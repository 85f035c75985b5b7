"""The cases in `tests/fixtures/pipelines`: documents in files, each with its expected diagnostics."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ir.allowances import Allowance, Allowances
from ir.destinations import Destination, DestinationColumn, Destinations, Replacing
from ir.documents import Syntax
from ir.names import parse_table_name
from ir.parse import Parsed, parsePipelineIR
from ir.types import STRING, ColumnType

FOLDER = Path(__file__).parent.parent / "fixtures" / "pipelines"


@dataclass(frozen=True)
class Case:
    """A document and its expected diagnostics. `code` is the code that the case demonstrates."""

    name: str
    text: bytes
    syntax: Syntax
    expected: list[dict[str, Any]]
    destinations: Destinations | None
    streaming: bool = False
    sources: dict[str, list[str]] | None = None
    allowances: dict[str, dict[str, Any]] | None = None

    def parse(self) -> Parsed:
        return parsePipelineIR(
            self.text,
            syntax=self.syntax,
            destinations=self.destinations,
            sources=self.sources,
            streaming=self.streaming,
            allowances=_allowances(self.allowances or {}),
        )

    @property
    def code(self) -> str:
        return self.name.split("--")[0]


def list_cases(kind: str) -> list[Case]:
    """Return the cases in `valid` or `invalid`."""
    return [_read_case(path) for path in sorted((FOLDER / kind).glob("*.expect.json"))]


def _read_case(expect: Path) -> Case:
    name = expect.name.removesuffix(".expect.json")
    document = expect.with_name(f"{name}.json")
    syntax: Syntax = "json"
    if not document.exists():
        document, syntax = expect.with_name(f"{name}.toml"), "toml"
    destinations = expect.with_name(f"{name}.destinations.json")
    settings = expect.with_name(f"{name}.settings.json")
    return Case(
        name,
        document.read_bytes(),
        syntax,
        json.loads(expect.read_text()),
        _destinations(json.loads(destinations.read_text())) if destinations.exists() else None,
        **(json.loads(settings.read_text()) if settings.exists() else {}),
    )


def _allowances(given: dict[str, dict[str, Any]]) -> Allowances:
    return {
        connection: Allowance(frozenset(map(parse_table_name, allowed.get("functions", ()))), allowed.get("role", ""))
        for connection, allowed in given.items()
    }


def _destinations(tables: list[dict[str, Any]]) -> Destinations:
    return {
        (table["connection"], table["schema"], table["table"]): Destination(
            table["schema"],
            table["table"],
            tuple(map(_column, table["columns"])),
            tuple(frozenset(key) for key in table["uniqueKeys"]),
            kind=table.get("kind", "table"),
            writable=table.get("writable", True),
            replacing=Replacing(tuple(table.get("againstSwap", ())), tuple(table.get("againstDelete", ()))),
        )
        for table in tables
    }


def _column(column: str | dict[str, Any]) -> DestinationColumn:
    """Return a column of a table. A column that is given by its name only is a text column."""
    if isinstance(column, str):
        return DestinationColumn(column, STRING, "text")
    return DestinationColumn(
        column["name"], ColumnType.parse(column["type"]), column["type"], column.get("nullable", True)
    )


def document(name: str) -> dict[str, Any]:
    """Return a copy of the valid document with the name."""
    loaded: dict[str, Any] = json.loads((FOLDER / "valid" / f"{name}.json").read_text())
    return loaded
