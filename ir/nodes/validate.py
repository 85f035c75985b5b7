"""The validate node: row rules, dataset checks and the table for rejected rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import ConfigDict, Field

from ir.base import Id, Spec
from ir.checks import Check, DatasetLevel
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.names import check_table_name
from ir.nodes.base import InnerNode
from ir.pointers import Pointer
from ir.rules import Rule, rule_id
from ir.rules.base import RowRule


class Quarantine(Spec):
    """Stores rejected rows in a table of a PostgreSQL database."""

    enabled: bool = Field(description="Whether rejected rows are stored. Without it they are only counted.")
    table: str | None = Field(
        None,
        description="The table, as schema.name. Flow creates it if it does not exist.",
        examples=["dlq.orders"],
    )
    connection: Id | None = Field(
        None,
        description="The connection of the PostgreSQL database with the table. By default that of the target.",
        examples=["warehouse"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.table is not None:
            yield from check_table_name(self.table, at / "table", writes=True)
        elif self.enabled:
            yield diagnose("quarantine.table_required", at / "table", "The quarantine is enabled but has no table.")


class Validate(InnerNode):
    """Checks rows one by one with rules, and all rows together with checks."""

    model_config = ConfigDict(json_schema_extra={"groups": ["General", "Row rules", "Dataset checks", "Rejected rows"]})

    kind: Literal["validate"]
    row_level: list[Rule] = Field(
        default=[],
        title="Rules",
        description="What each row must satisfy.",
        json_schema_extra={"group": "Row rules"},
    )
    dataset_level: DatasetLevel | None = Field(
        None,
        title="Checks",
        description="What all staged rows together must satisfy before they are loaded.",
        json_schema_extra={"group": "Dataset checks"},
    )
    quarantine: Quarantine | None = Field(
        None,
        title="Quarantine",
        description="Stores rejected rows in a table of a PostgreSQL database.",
        json_schema_extra={"group": "Rejected rows"},
    )

    def reads(self, at: Pointer, columns: Columns) -> Iterator[tuple[str, Pointer, Columns]]:
        for i, rule in enumerate(self.row_level):
            yield from ((column, pointer, columns) for column, pointer in rule.reads(at / "rowLevel" / i))
        for part, pointer in self.parts(at):
            if isinstance(part, Check):
                yield from ((column, column_at, columns) for column, column_at in part.reads(pointer))


def check_rule_ids(rules: Iterable[tuple[RowRule, Pointer]]) -> Iterator[Diagnostic]:
    """Check that the rules of a node have distinct ids. Each rule comes with its position."""
    seen: set[str] = set()
    for rule, pointer in rules:
        name = rule_id(rule)
        if name in seen:
            message = f"The rule id {shown(name)} is repeated" if rule.id else "The same rule is repeated"
            yield diagnose("rule.id_repeated", pointer / "id" if rule.id else pointer, message + " in this node.")
        seen.add(name)
