"""Compares the columns that arrive at a table with the table and with those of the last load, and decides which
differences a load may follow. Pure data; the destination executes the changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from executors.errors import Terminal
from executors.model import Destination, DestinationColumn, SourceField
from executors.widening import declared_as, holds, widened
from ir.schema_policy import SchemaPolicy
from ir.types import ColumnType
from ir.words import counted

ChangeKind = Literal["add", "drop", "widen", "narrow", "rename", "key"]

ALTERING: tuple[ChangeKind, ...] = ("add", "rename", "widen")
"""The kinds of changes that alter the table."""


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """One difference. `before` and `after` are types, or the old and the new name of a renamed column, or the old and
    the new key columns. `statement` alters the table; with `rewrites`, PostgreSQL writes all rows of it anew, which are
    `table_bytes` with their indexes.
    `why_not` says why a load cannot follow the change without a decision, or at all."""

    kind: ChangeKind
    column: str
    before: str = ""
    after: str = ""
    statement: str = ""
    rewrites: bool = False
    table_bytes: int = 0
    why_not: str = ""

    @property
    def id(self) -> str:
        """Identifies the change by its content, so that an acceptance never covers a different one."""
        content = json.dumps([self.kind, self.column, self.before, self.after])
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    @property
    def alters(self) -> bool:
        return self.kind in ALTERING

    @property
    def sentence(self) -> str:
        return _SENTENCES[self.kind].format(column=self.column, before=self.before, after=self.after)


_SENTENCES: dict[ChangeKind, str] = {
    "add": "Column {column!r} ({after}) is new.",
    "drop": "The source no longer has column {column!r}; it stays in the table, and new rows have its default or NULL.",
    "widen": "Column {column!r} is {before} in the table and {after} at the source.",
    "narrow": "Column {column!r} was {before} at the last load and is {after} now.",
    "rename": "Column {before!r} is renamed to {column!r}.",
    "key": "The rows are identified by {after}, but the unique keys of the table are {before}.",
}


class SchemaRefused(Terminal):
    """Columns have changed, and nobody has decided that the load may follow. `changes` are all differences, `open` the
    IDs of those that a person can accept."""

    def __init__(
        self,
        code: str,
        message: str,
        changes: Sequence[SchemaChange],
        open_ids: Collection[str],
        *,
        node: str,
        hint: str,
    ) -> None:
        super().__init__(code, message, node=node, hint=hint)
        self.changes, self.open = tuple(changes), frozenset(open_ids)


@dataclass(frozen=True, slots=True)
class Arriving:
    """What is known of the columns that arrive. `working` are the columns at the table, `fields` those of the source,
    `previous` those of the source at the last load. `declared` names columns whose types the document declares.
    `renamed` maps new to old names; `key` are the columns that identify a row, if the load needs any."""

    working: Sequence[SourceField]
    fields: Sequence[SourceField] = ()
    previous: Sequence[SourceField] = ()
    declared: Collection[str] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    key: Collection[str] = ()


def compare(arriving: Arriving, table: Destination) -> tuple[SchemaChange, ...]:
    """Return the differences, renames first. Columns that the table computes are none of them."""
    renames = tuple(_renames(arriving, table))
    table = evolved(table, [change for change in renames if not change.why_not])
    refused = {change.column for change in renames if change.why_not}
    return (
        *renames,
        *(change for change in _added(arriving, table) if change.column not in refused),
        *_dropped(arriving, table),
        *_retyped(arriving, table),
        *_changed_key(arriving, table),
    )


def _renames(arriving: Arriving, table: Destination) -> Iterator[SchemaChange]:
    given = {one.name for one in arriving.working}
    for new, old in arriving.renamed.items():
        if new in given and table.column(new) is None and (column := table.column(old)) and not column.generated:
            why = f"The source still has {old!r}, so it is not renamed." if old in given else ""
            yield SchemaChange("rename", new, old, new, why_not=why)


def _added(arriving: Arriving, table: Destination) -> Iterator[SchemaChange]:
    alike = {column.name.lower(): column.name for column in table.columns}
    renamed = {old: new for new, old in arriving.renamed.items() if table.column(new) is not None}
    for one in arriving.working:
        if table.column(one.name) is None:
            known, why = alike.get(one.name.lower()), ""
            if one.name in renamed:
                why = f"It is the former name of {renamed[one.name]!r}, which the table has."
            elif known:
                why = f"The table has {known!r}, which differs only in upper and lower case."
            yield SchemaChange("add", one.name, "", declared_as(one.type), why_not=why)


def _dropped(arriving: Arriving, table: Destination) -> Iterator[SchemaChange]:
    given = {one.name for one in (*arriving.working, *arriving.fields)} | set(arriving.renamed.values())
    for one in arriving.previous:
        if one.name not in given and (column := table.column(one.name)) and not column.generated:
            yield SchemaChange("drop", one.name, column.declared, "")


def _retyped(arriving: Arriving, table: Destination) -> Iterator[SchemaChange]:
    previous = {one.name: one for one in arriving.previous}
    raw = {one.name: one for one in arriving.fields}
    for one in arriving.working:
        column, now = table.column(one.name), declared_as(one.type)
        if column is None or column.generated:
            continue
        if wide := widened(column.declared, now):
            yield SchemaChange("widen", one.name, column.declared, wide)
            continue
        known, field_now = previous.get(one.name), raw.get(one.name)
        if one.name in arriving.declared or known is None or field_now is None or field_now.type != one.type:
            continue
        if known.as_text or field_now.as_text or field_now.only_null or column.base == "text":
            continue
        before = declared_as(known.type)
        if before != now and (_narrows(before, now) or not holds(column.declared, now)):
            yield SchemaChange("narrow", one.name, before, now, why_not="The new type does not hold the old values.")


def _narrows(before: str, now: str) -> bool:
    return holds(before, now)


def _changed_key(arriving: Arriving, table: Destination) -> Iterator[SchemaChange]:
    key = frozenset(arriving.key)
    if key and table.unique_keys and key not in table.unique_keys:
        known = " and ".join(sorted(f"({', '.join(sorted(names))})" for names in table.unique_keys))
        yield SchemaChange(
            "key", ", ".join(arriving.key), known, f"({', '.join(arriving.key)})", why_not="A key is never changed."
        )


def evolved(table: Destination, changes: Iterable[SchemaChange]) -> Destination:
    """Return the table as it is after the changes."""
    for change in changes:
        if change.kind == "rename":
            table = _renamed(table, change.before, change.after)
        elif change.kind == "widen":
            columns = [
                replace(column, type=typed(change.after), declared=change.after, base=_base(change.after))
                if column.name == change.column
                else column
                for column in table.columns
            ]
            table = replace(table, columns=tuple(columns))
        elif change.kind == "add":
            column = DestinationColumn(change.column, typed(change.after), change.after, base=_base(change.after))
            table = replace(table, columns=(*table.columns, column))
    return table


def typed(declared: str) -> ColumnType:
    """Return the type of Flow for a type that a change gives to a column."""
    name = _FLOW_TYPES.get(declared)
    if name is None and declared.startswith("numeric("):
        precision, scale = declared[8:-1].split(",")
        # A load sends larger numbers as text, and PostgreSQL parses them.
        return ColumnType("decimal", int(precision), int(scale)) if int(precision) <= 38 else _native(declared)
    return ColumnType(name) if name else _native(declared)


def _native(declared: str) -> ColumnType:
    return ColumnType("pg", pg_name=declared)


_FLOW_TYPES = {
    declared_as(ColumnType(name)): name
    for name in (
        "string",
        "integer",
        "bigint",
        "float",
        "boolean",
        "date",
        "timestamp",
        "timestamptz",
        "time",
        "json",
        "uuid",
        "binary",
    )
}


def _base(declared: str) -> str:
    return declared.partition("(")[0] if declared.startswith("numeric") else declared


def _renamed(table: Destination, old: str, new: str) -> Destination:
    def named(names: frozenset[str]) -> frozenset[str]:
        return frozenset(new if name == old else name for name in names)

    return replace(
        table,
        columns=tuple(replace(c, name=new) if c.name == old else c for c in table.columns),
        unique_keys=tuple(map(named, table.unique_keys)),
        null_keys=tuple(map(named, table.null_keys)),
    )


def still_needed(table: Destination, changes: Iterable[SchemaChange]) -> list[SchemaChange]:
    """Return the changes that would alter the table as it is now: another load may have made some of them."""
    return [change for change in changes if _is_needed(table, change)]


def _is_needed(table: Destination, change: SchemaChange) -> bool:
    column = table.column(change.column)
    if change.kind == "widen":
        return column is not None and column.declared == change.before
    return change.alters and column is None and (change.kind == "add" or table.column(change.before) is not None)


def decide(
    changes: Sequence[SchemaChange],
    policy: SchemaPolicy,
    accepted: Collection[str],
    table: str,
    node: str,
    rejected: Collection[str] = (),
) -> tuple[SchemaChange, ...]:
    """Return the changes that the load follows. Raises SchemaRefused for those that need a decision, for those that a
    person has rejected, whatever the policy has become since, and for those that no load can follow.

    With `freeze`, only accepted changes are followed; a new column is refused by the caller, and other differences are
    handled as if there were no policy.
    """
    if policy == "freeze":
        return tuple(change for change in changes if change.id in accepted and not _is_impossible(change))
    impossible = [change for change in changes if _is_impossible(change)]
    unwanted = [change for change in changes if change.why_not and change.id not in accepted]
    if refused := [*impossible, *(change for change in unwanted if change not in impossible)]:
        raise SchemaRefused(
            "schema.incompatible",
            f"{' '.join(f'{change.sentence} {change.why_not}' for change in refused)} {table} was not changed.",
            changes,
            {change.id for change in changes if not _is_impossible(change) and change.id not in accepted},
            node=node,
            hint=_guidance(refused),
        )
    if declined := [change for change in changes if change.id in rejected]:
        raise _declined(changes, declined, accepted, table, node)
    undecided = [change for change in changes if change.id not in accepted]
    if policy == "ask" and undecided:
        raise pending(changes, undecided, table, node)
    return tuple(changes)


def _declined(
    changes: Sequence[SchemaChange],
    declined: Sequence[SchemaChange],
    accepted: Collection[str],
    table: str,
    node: str,
) -> SchemaRefused:
    return SchemaRefused(
        "schema.change_rejected",
        f"{counted(len(declined), 'change')} of the columns of {table} {'was' if len(declined) == 1 else 'were'} "
        f"rejected: {' '.join(change.sentence for change in declined)} Nothing was loaded.",
        changes,
        {change.id for change in changes if change.id not in accepted},
        node=node,
        hint="Correct the source or drop the column in a transform, or accept the change on the page Schema changes or "
        "by flow schema accept; then run again.",
    )


def pending(changes: Sequence[SchemaChange], undecided: Sequence[SchemaChange], table: str, node: str) -> SchemaRefused:
    return SchemaRefused(
        "schema.change_pending",
        f"{counted(len(undecided), 'change')} of the columns of {table} "
        f"{'waits' if len(undecided) == 1 else 'wait'} for a decision: "
        f"{' '.join(change.sentence for change in undecided)} Nothing was loaded.",
        changes,
        {change.id for change in undecided},
        node=node,
        hint="Accept or reject them on the page Schema changes, or by flow schema accept; then run again.",
    )


def _is_impossible(change: SchemaChange) -> bool:
    """Return whether not even a person can accept the change."""
    return change.kind == "key" or (change.kind == "rename" and bool(change.why_not))


def _guidance(refused: Sequence[SchemaChange]) -> str:
    return " ".join(dict.fromkeys(_GUIDANCE[change.kind] for change in refused))


_GUIDANCE: dict[ChangeKind, str] = {
    "add": "Declare it in renamed of the source, rename it in a transform, or accept it as another column.",
    "drop": "",
    "widen": "",
    "narrow": "Cast the column in a transform, or accept the change: values that do not fit the table's column are "
    "then handled as onTypeMismatch says.",
    "rename": "Correct renamed of the source, or drop the old column in a transform.",
    "key": "Change the keys of the table yourself, or set upsertKey to one of them.",
}


def unaccepted(changes: Sequence[SchemaChange], follows: Collection[SchemaChange]) -> frozenset[str]:
    """Return the IDs of the changes that a person can accept and that the load does not follow."""
    return frozenset(change.id for change in changes if change not in follows and not _is_impossible(change))
