"""The declaration of a load mode, and the input of its rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ir.columns import Columns
from ir.destinations import Destination
from ir.diagnostics import Diagnostic, Skipped, diagnose, listed, shown
from ir.pointers import Pointer
from ir.spelling import guess
from ir.types import ColumnType

if TYPE_CHECKING:
    from ir.nodes.target import Target


@dataclass(frozen=True, slots=True)
class TargetView:
    """A target with its position and what is known of its surroundings.

    `projected` are the columns of the incoming rows. `destination` is the table in the database, None if it does not
    exist; `looked` says whether the database was queried. `sources` and `targets` count the pipeline's nodes.
    `streaming` says whether the installation allows streams, `follows_changes` whether `cdcSource` names a source that
    reads changes, `runs_sql` whether the destination runs the statements of load modes.
    """

    target: Target
    at: Pointer
    projected: Columns
    destination: Destination | None
    looked: bool
    sources: int
    targets: int
    streaming: bool = False
    follows_changes: bool = False
    runs_sql: bool = True

    def table_columns(self) -> tuple[str, ...] | None:
        """The current or future columns of the table, None if unknown."""
        if self.destination is not None:
            return tuple(column.name for column in self.destination.columns)
        if self.target.columns is not None:
            return tuple(column.name for column in self.target.columns)
        return self.projected.present if self.projected.closed else None

    def type_of(self, column: str) -> ColumnType | None:
        """Return the type of a column of the table, None if unknown."""
        if self.destination is not None:
            found = self.destination.column(column)
            return found.type if found is not None else None
        name = next((c.type for c in self.target.columns or () if c.name == column), None)
        return ColumnType.parse(name) if name else None


Findings = Iterator[Diagnostic | Skipped]


@dataclass(frozen=True, slots=True)
class LoadMode:
    """A load mode.

    `runs` describes the statements in the database, `needs` the requirements of a target; both are shown to users.
    `fields` are attributes of the target that not every mode uses. `nearest` is the mode with the most similar result,
    for destinations that do not support this one. `adds_rows` means that all rows are added to those
    of the table.
    """

    name: str
    sentence: str
    runs: str
    needs: str
    fields: frozenset[str] = field(default_factory=frozenset)
    nearest: str = ""
    needs_key: bool = False
    adds_rows: bool = False
    replaces_all_rows: bool = False
    keeps_watermark: bool = False
    follows_stream: bool = False
    check: Callable[[TargetView], Findings] = lambda view: iter(())


def check_known(code: str, name: str, at: Pointer, view: TargetView) -> Findings:
    """Check that the table has a column; skipped if its columns are unknown."""
    known = view.table_columns()
    if known is None:
        yield Skipped(code, at, "the columns of the table are unknown without access to it")
    elif name not in known:
        near = guess(name, known)
        yield diagnose(
            code,
            at,
            f"The table has no column {shown(name)}. Columns: {listed(known)}.",
            fixes=[[{"op": "replace", "path": str(at), "value": near}]] if near else [],
        )
