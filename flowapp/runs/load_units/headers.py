"""The columns of files: stored once per pipeline and set of columns, and compared with those of the previous file.

`LoadUnit.header` is the header of a file, or None if no run has scanned it. `columns_of_header` reads it, `previous_of`
finds the header before it in the same source, and `compare` lists the differences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from executors.model import SourceFile
from flowapp.runs.load_units.models import FileHeader, LoadUnit
from flowapp.runs.models import Run

MOST_COLUMNS = 1_000
"""The number of columns that are stored of one file."""
MOST_CHARACTERS = 200
"""The length of a stored name. A longer one is cut, and a hash distinguishes it from others with the same beginning."""

MOST_SHOWN = 100
"""The number of differences that a page shows."""

Change = Literal["added", "dropped", "renamed", "type", "moved"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file: its position from 1, its name, and its type, "" if no value determines it."""

    position: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A column that differs: in the previous file, in this one, or in both. `renamed` is a guess: the two columns have
    alike names, or the same position in files with the same number of columns."""

    change: Change
    before: Column | None
    now: Column | None


# --- store -------------------------------------------------------------------------------------------------------


def store_headers(run: Run, files: Iterable[SourceFile]) -> dict[tuple[tuple[str, str], ...], int]:
    """Store the columns of files; return the id of the header of each set of columns."""
    wanted = {_digest(columns): columns for columns in {file.columns for file in files} if columns}
    if not wanted:
        return {}
    stored = FileHeader.objects.filter(pipeline_id=run.pipeline_id, digest__in=wanted)
    FileHeader.objects.bulk_create(
        (
            FileHeader(
                workspace_id=run.workspace_id,
                pipeline_id=run.pipeline_id,
                digest=digest,
                columns=[[_short(name), kind] for name, kind in columns[:MOST_COLUMNS]],
                total=len(columns),
            )
            for digest, columns in wanted.items()
        ),
        ignore_conflicts=True,
    )
    return {wanted[digest]: key for digest, key in stored.values_list("digest", "pk")}


def _digest(columns: Sequence[tuple[str, str]]) -> str:
    return hashlib.sha256(json.dumps(columns).encode()).hexdigest()


def _short(name: str) -> str:
    """Return a name without NUL, which PostgreSQL cannot store, and cut if it is too long."""
    clean = name.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if len(clean) <= MOST_CHARACTERS:
        return clean
    return f"{clean[: MOST_CHARACTERS - 12]}… {hashlib.sha256(name.encode()).hexdigest()[:10]}"


# --- read --------------------------------------------------------------------------------------------------------


def columns_of_header(header: FileHeader) -> tuple[Column, ...]:
    return tuple(Column(number, name, kind) for number, (name, kind) in enumerate(header.columns, 1))


def previous_of(unit: LoadUnit) -> LoadUnit | None:
    """Return the file that the same source gave before this one, with its header; None for the first."""
    return (
        _with_header(LoadUnit.objects.filter(pipeline_id=unit.pipeline_id, node=unit.node))
        .filter(created_at__lt=unit.created_at)
        .exclude(sha256=unit.sha256)
        .select_related("header")
        .first()
    )


def with_previous_header(units: QuerySet[LoadUnit]) -> QuerySet[LoadUnit]:
    """Annotate each file with `previous_header`, the id of the header of the previous file of its source."""
    before = _with_header(LoadUnit.objects.filter(pipeline=OuterRef("pipeline"), node=OuterRef("node")))
    before = before.filter(created_at__lt=OuterRef("created_at")).exclude(sha256=OuterRef("sha256"))
    return units.annotate(previous_header=Subquery(before.values("header")[:1]))


def differing(units: Collection[LoadUnit]) -> set[UUID]:
    """Return the files, annotated by `with_previous_header`, whose header differs from that of the previous file."""
    pairs = {unit.pk: (before, unit.header_id) for unit in units if (before := _previous_header(unit)) is not None}
    wanted = {pair for pair in pairs.values() if None not in pair and pair[0] != pair[1]}
    headers = FileHeader.objects.in_bulk({key for pair in wanted for key in pair})
    differ = {pair for pair in wanted if _differ(headers, *pair)}
    return {key for key, pair in pairs.items() if pair in differ}


def _differ(headers: Mapping[int, FileHeader], before: int, now: int | None) -> bool:
    if now is None or not {before, now} <= headers.keys():
        return False
    one, other = headers[before], headers[now]
    return one.total != other.total or bool(compare(columns_of_header(one), columns_of_header(other)))


def _previous_header(unit: LoadUnit) -> int | None:
    found: int | None = getattr(unit, "previous_header", None)
    return found


def _with_header(units: QuerySet[LoadUnit]) -> QuerySet[LoadUnit]:
    return units.exclude(header=None).order_by("-created_at")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences of a file's columns from those of the previous file of its source. `is_partial` means that a file
    has more columns than are stored, so that only the first ones are compared."""

    previous: LoadUnit
    totals: tuple[int, int]
    differences: Sequence[Difference]
    is_partial: bool

    @property
    def shown(self) -> Sequence[Difference]:
        return self.differences[:MOST_SHOWN]

    @property
    def hidden(self) -> int:
        return len(self.differences) - len(self.shown)


def compare_with_previous(unit: LoadUnit) -> Comparison | None:
    """Return the comparison of a file with the previous one; None if one of them is unknown."""
    if unit.header is None or (previous := previous_of(unit)) is None or previous.header is None:
        return None
    found = compare(columns_of_header(previous.header), columns_of_header(unit.header))
    totals = (previous.header.total, unit.header.total)
    return Comparison(previous, totals, found, is_partial=max(totals) > MOST_COLUMNS)


# --- compare -----------------------------------------------------------------------------------------------------


def compare(before: Sequence[Column], now: Sequence[Column]) -> list[Difference]:
    """Return the columns that differ, in the order of this file, dropped ones last."""
    old, new = {column.name: column for column in before}, {column.name: column for column in now}
    dropped = {name: column for name, column in old.items() if name not in new}
    added = {name: column for name, column in new.items() if name not in old}
    renamed = _renamed(dropped, added, same_width=len(before) == len(now))
    moved = _moved([name for name in old if name in new], [name for name in new if name in old])
    found: list[Difference] = []
    for name, column in new.items():
        if name in added:
            source = renamed.get(name)
            found.append(Difference("renamed" if source else "added", source, column))
            continue
        if "" not in (kinds := {old[name].type, column.type}) and len(kinds) > 1:
            found.append(Difference("type", old[name], column))
        if name in moved:
            found.append(Difference("moved", old[name], column))
    gone = {column.name for column in renamed.values()}
    return found + [Difference("dropped", column, None) for name, column in dropped.items() if name not in gone]


def _renamed(dropped: Mapping[str, Column], added: Mapping[str, Column], *, same_width: bool) -> dict[str, Column]:
    """Return the dropped column that each added one may be: first by alike names, then by position."""
    found: dict[str, Column] = {}
    left = dict(dropped)
    for matches in (_alike, _same_place) if same_width else (_alike,):
        for name, column in added.items():
            source = next((one for one in left.values() if matches(one, column)), None)
            if name not in found and source is not None:
                found[name] = left.pop(source.name)
    return found


def _alike(one: Column, other: Column) -> bool:
    return bool(plain := _plain(one.name)) and plain == _plain(other.name)


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _same_place(one: Column, other: Column) -> bool:
    return one.position == other.position and ("" in (one.type, other.type) or one.type == other.type)


def _moved(before: Sequence[str], now: Sequence[str]) -> set[str]:
    """Return the columns of both files that have another place among them."""
    return set(now) - set(_in_order(before, now))


def _in_order(before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    for block in SequenceMatcher(None, before, now, autojunk=False).get_matching_blocks():
        yield from now[block.b : block.b + block.size]
