"""Decisions about rejected rows: fix, ignore, undo. Each applies only if the row has not changed meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from executors.target_database import GROUP, Owner, RejectedRow, Rejects, TableName, Verb, open_rejects
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.quarantine.models import Selection
from flowapp.quarantine.records import note_decision
from flowapp.quarantine.reject_tables import reject_tables_of
from flowapp.runs.holds import Decider
from ir.errors import FlowError

LONGEST_REASON = 2000
LONGEST_CELL = 1_000_000
NEEDS_REASON = frozenset({"ignore"})
Cells = Mapping[str, str | None]
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Decided:
    """How many rows were changed, and how many were skipped because they had changed since the selection or their
    status does not allow the decision."""

    changed: int
    excluded: int


def decide(
    selection: Selection, verb: Verb, by: Decider, reason: str = "", cells: Mapping[Key, Cells] | None = None
) -> Decided:
    """Change the rows of a selection that have not changed since. Each table changes completely or not at all. Raises
    FlowError.

    With `fix`, rows without an entry in `cells` are skipped.
    """
    reason = reason.strip()[:LONGEST_REASON]
    if verb in NEEDS_REASON and not reason:
        raise FlowError("reason.required", "Ignoring rows needs a reason.", hint="Give a reason. It is stored.")
    _require_cells(cells or {})
    chosen, changed, is_whole = len(cells) if cells is not None else selection.rows, 0, False
    fields = sorted({name for row in (cells or {}).values() for name in row})
    try:
        for part in reach_parts(selection):
            changed += _decide(part, verb, by, reason, cells)
        is_whole = True
    finally:
        # Changes stay even if another table refuses or does not respond.
        if changed or is_whole:
            note_decision(
                selection.workspace,
                selection.pipeline,
                verb,
                by,
                rows=changed,
                excluded=chosen - changed,
                reason=reason,
                details={"filters": selection.filters, **({"fields": fields} if fields else {})},
            )
    return Decided(changed, chosen - changed)


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of a selection in one table in their current state, with their revisions at selection."""

    rejects: Rejects
    owner: Owner
    tables: tuple[TableName, ...]
    table: TableName
    rows: list[RejectedRow]
    seen: Mapping[int, int]
    connection: str


def reach_parts(selection: Selection) -> Iterator[Part]:
    """Yield the parts of a selection. Raises Failure if a database does not respond or cannot record decisions."""
    pipeline = selection.pipeline
    owner = Owner(str(selection.workspace_id), pipeline.slug)
    reject_tables = reject_tables_of(selection.workspace, pipeline, None)
    for part in selection.parts:
        table = TableName(part["schema"], part["table"])
        connection = resolve(get_connection(selection.workspace, part["connection"]))
        with open_rejects(connection) as rejects:
            seen = dict(zip(part["ids"], part["revisions"], strict=True))
            rows = rejects.find_rows(owner, table, part["ids"])
            others = [
                reject_table.table for reject_table in reject_tables if reject_table.connection == part["connection"]
            ]
            others += rejects.tables_of_runs({row.run_id for row in rows})
            yield Part(rejects, owner, (table, *others), table, rows, seen, part["connection"])


def _decide(part: Part, verb: Verb, by: Decider, reason: str, cells: Mapping[Key, Cells] | None) -> int:
    rows = [replace(row, revision=part.seen[row.id]) for row in part.rows if cells is None or row.key in cells]
    if cells:
        require_single_rows({row.row_from for row in rows})
        _require_fields(part, rows, cells)
    return part.rejects.change(part.owner, part.tables, rows, verb, by.words, reason, cells)


def _require_cells(cells: Mapping[Key, Cells]) -> None:
    for row in cells.values():
        for name, value in row.items():
            if value is not None and ("\0" in value or len(value) > LONGEST_CELL):
                raise FlowError(
                    "fix.value_unusable",
                    f"The value for {name!r} contains a NUL character or is too long.",
                    hint="Enter another value.",
                )


def require_single_rows(forms: Collection[str]) -> None:
    """Raise FlowError if there are groups among rows of these forms."""
    if GROUP in forms:
        raise FlowError(
            "fix.of_group",
            "A group that an aggregate has made cannot be fixed: its values come from several rows of the source.",
            hint="Correct the rows in their source, or the rule, and run the pipeline again.",
        )


def _require_fields(part: Part, rows: Collection[RejectedRow], cells: Mapping[Key, Cells]) -> None:
    filters = {name for row in rows for name in cells.get(row.key, ())}
    known = part.rejects.field_names(part.table, rows)
    if known and (strange := sorted(filters - set(known))):
        raise FlowError(
            "fix.field_unknown",
            f"The rows have no field {strange[0]!r}.",
            hint=f"Fields: {', '.join(sorted(known))}.",
        )


def keys_of(selection: Selection) -> list[Key]:
    """Return the keys of the part's rows."""
    return [row.key for part in reach_parts(selection) for row in part.rows]
