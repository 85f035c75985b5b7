"""Worlds whose target is a Delta table, in a folder and in a bucket."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from executors.delta.folders import TableFolder, folder_of
from executors.model import RunJob, StoreConnection
from tests.connectors.s3.server import S3Server
from tests.connectors.server import shared_server
from tests.executors.conformance.world import World

_COLUMN = re.compile(
    r"(\w+) (int|bigint|text|numeric\((\d+), ?(\d+)\)|date|boolean|timestamptz|timestamp)( [a-z ]+)?(,|\)$)"
)
_TYPES = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "text": pa.string(),
    "date": pa.date32(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}


class DeltaWorld(World):
    """The same documents into a table below `lake/`, or below `lake_folder`."""

    lake_folder: Path | None = None

    @property
    def lake(self) -> StoreConnection:
        """The connection of the target."""
        return self.stores.setdefault("warehouse", self._new_lake())

    def _new_lake(self) -> StoreConnection:
        return StoreConnection("warehouse", "folder", {"path": str(self.lake_folder or self.folder / "lake")})

    def table(self, name: str = "t") -> TableFolder:
        return folder_of(self.lake, self.schema, name)

    def create_table(self, statement: str) -> None:
        """Create the table of a CREATE TABLE statement of PostgreSQL."""
        name = statement.split()[2]
        fields = [
            pa.field(column, _type_of(kind, precision, scale), "not null" not in rest and "primary key" not in rest)
            for column, kind, precision, scale, rest, _ in _COLUMN.findall(statement)
        ]
        DeltaTable.create(self.table(name).uri, pa.schema(fields), storage_options=dict(self.table().root.options))

    def rows(self, columns: str = "*", table: str = "t") -> list[tuple[Any, ...]]:
        found = self.table(table).open()
        if found is None:
            return []
        names = [field.name for field in found.schema().fields] if columns == "*" else columns.split(", ")
        rows = found.to_pyarrow_table(columns=names).to_pylist()
        return sorted((tuple(row.values()) for row in rows), key=lambda row: [(value is None, value) for value in row])

    def document(self, **about: Any) -> dict[str, Any]:
        document = super().document(**about)
        for node in document["nodes"]:
            if node["kind"] == "target":
                node["connector"] = "delta"
            if "quarantine" in node:
                node["quarantine"]["connection"] = "rejects"
        return document

    def job(self, document: Mapping[str, Any], *args: Any, **more: Any) -> RunJob:
        assert self.lake
        job = super().job(document, *args, **more)
        return replace(job, connections={"rejects": self.warehouse})


class DeltaS3World(DeltaWorld):
    """The same in the bucket of a server of its own."""

    def _new_lake(self) -> StoreConnection:
        return replace(shared_server(S3Server).connection(), name="warehouse")


def _type_of(kind: str, precision: str, scale: str) -> pa.DataType:
    return pa.decimal128(int(precision), int(scale)) if precision else _TYPES[kind]
