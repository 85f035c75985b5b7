"""Loads of a Delta table without Spark: rows are staged by the writers of tasks and committed."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from executors.delta.commit import commit_load
from executors.delta.folders import TableFolder, folder_of
from executors.delta.load_modes import READS_STAGED
from executors.delta.markers import TargetLog
from executors.delta.plan import DeltaPlan
from executors.delta.staging import DeltaStagingArea, StagedFiles
from executors.load_record import LoadCommit, LoadCounts, RunRef, TableIdentity
from executors.model import StageColumn, StoreConnection
from executors.secrets import encrypt_store
from executors.stage_plan import FILE, RECORD
from executors.types import wire_type
from ir.types import ColumnType

COLUMNS = (("id", "integer"), ("name", "string"))
SCHEMA = pa.schema([pa.field("id", pa.int32()), pa.field("name", pa.string())])
ROWS = ({"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"})


@dataclass
class Loads:
    """The loads of one target node into `lake.t`."""

    store: StoreConnection
    schema: pa.Schema = SCHEMA
    node: str = "load"
    tokens: Any = field(default_factory=lambda: itertools.count(1))

    @property
    def folder(self) -> TableFolder:
        return folder_of(self.store, "lake", "t")

    @property
    def log(self) -> TargetLog:
        return TargetLog.of(self.folder, "tenant", "pipeline", self.node)

    def create(self, rows: Sequence[Mapping[str, Any]] = (), schema: pa.Schema | None = None) -> None:
        """Create the table with rows that no load has written."""
        self.schema = schema or self.schema
        write_deltalake(self.folder.uri, pa.Table.from_pylist([dict(row) for row in rows], schema=self.schema))

    def run(self, **about: Any) -> RunRef:
        return RunRef(**{"run_id": str(uuid.uuid4()), "tenant": "tenant", "pipeline": "pipeline", "node": self.node,
                         "attempt": 1, "token": next(self.tokens), **about})  # fmt: skip

    def staged(
        self, rows: Sequence[Mapping[str, Any]], mode: str = "append", run: RunRef | None = None, **about: Any
    ) -> DeltaPlan:
        """Stage rows as the task 7 does, and return the plan that loads them."""
        run = run or self.run()
        files = StagedFiles(run.run_id, run.node, run.attempt)
        names = {name for row in rows for name in row}
        given = tuple((name, kind) for name, kind in about.pop("columns", COLUMNS) if name in names or not rows)
        columns = tuple(StageColumn(name, ColumnType.parse(kind)) for name, kind in given)
        area = DeltaStagingArea(
            encrypt_store(self.store), ("lake", "t"), files, self.schema, {0: "a" * 64}, mode in READS_STAGED
        )
        fields = [(FILE, pa.int32()), (RECORD, pa.int64()), *((c.name, wire_type(c.type).arrow) for c in columns)]
        batch = pa.RecordBatch.from_pylist(
            [{FILE: 0, RECORD: number, **row} for number, row in enumerate(rows, 1)], schema=pa.schema(fields)
        )
        with area.open(batch.schema, 7) as writer:
            if rows:
                writer.write_good(batch)
            writer.commit()
        key = ("id",) if mode == "upsert" else ()
        defaults: dict[str, Any] = {"key": key, "names": {0: "a.csv"}, "rewrites": mode in READS_STAGED}
        return DeltaPlan(run, self.log, files, [7], len(rows), mode, self.schema, columns, **{**defaults, **about})

    def load(self, rows: Sequence[Mapping[str, Any]], mode: str = "append", **about: Any) -> LoadCommit:
        return commit(self.staged(rows, mode, **about))

    def table(self) -> DeltaTable:
        table = self.folder.open()
        assert table is not None
        return table

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.table().to_pyarrow_table().to_pylist()
        return sorted(found, key=lambda row: (row["id"], str(row)))


def commit(plan: DeltaPlan) -> LoadCommit:
    def describe(counts: LoadCounts) -> LoadCommit:
        run, table = plan.run, TableIdentity("lake", "t", None)
        return LoadCommit(run.run_id, run.node, run.attempt, table, token=run.token, counts=counts)

    return commit_load(plan, describe).commit


@pytest.fixture
def loads(tmp_path: Path, encryption_keys: str) -> Loads:
    return Loads(StoreConnection("lake", "folder", {"path": str(tmp_path)}))
