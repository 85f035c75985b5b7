"""Proposes rules and checks from a sample, each with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import combinations
from typing import Any

import pyarrow as pa

from executors.rules import row_rule_mask
from executors.suggestions.columns import NO_TYPES, ColumnProfile, Row, profile_columns, texts_of
from executors.suggestions.patterns import pattern_of
from executors.suggestions.trial import try_rule
from ir.rules import RULES, Email, Url
from ir.words import counted

LEAST_ROWS = 20
"""Fewer rows are not representative."""
MOST_VALUES, LONGEST_VALUE = 20, 60
REPEATS = 10
"""The average frequency of each value in a column with few values."""
RARE = 100
"""At most one exception in this number of rows is an error; more exceptions are normal."""
KEY_COLUMNS = 8
MOST_MISFITS = 3


@dataclass(frozen=True, slots=True)
class Proposal:
    """A row rule, or a dataset check of the kind `check`, in the form of the document. `evidence` gives the reason,
    `hits` the number of rows of the sample that it rejects, and `misfits` some of their values."""

    spec: dict[str, Any]
    evidence: str
    check: str = ""
    hits: int = 0
    misfits: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The kind of the rule or check."""
        return self.check or str(self.spec["type"])

    @property
    def quotes_values(self) -> bool:
        """Return whether the rule, and so the document, would contain values of the sample."""
        return "values" in self.spec

    @property
    def field(self) -> str:
        return str(self.spec.get("field", ", ".join(self.spec.get("columns", ()))))


def propose(rows: Sequence[Row], types: Mapping[str, str] = NO_TYPES) -> list[Proposal]:
    """Return proposals column by column, then keys; none if the sample is too small. `types` are the types of columns;
    values of other columns are text if they arrive as text."""
    if len(rows) < LEAST_ROWS:
        return []
    columns = profile_columns(rows, types)
    found = [proposal for column in columns for kind in _KINDS for proposal in kind(column)]
    tried = [_tried(proposal, rows) for proposal in found]
    return [*(proposal for proposal in tried if proposal.hits * RARE <= len(rows)), *_keys(columns, rows)]


def _tried(proposal: Proposal, rows: Sequence[Row]) -> Proposal:
    """Return the proposal with the rows of the sample that it would reject."""
    trial = try_rule(RULES[proposal.spec["type"]].model_validate(proposal.spec), rows)
    texts = texts_of(rows, proposal.field).take(pa.array(trial.examples, pa.int64())).to_pylist()
    misfits = tuple(dict.fromkeys(text for text in texts if text))[:MOST_MISFITS]
    return replace(proposal, hits=trial.hits, misfits=misfits)


def _rule(kind: str, column: ColumnProfile, evidence: str, **fields: Any) -> Proposal:
    return Proposal({"type": kind, "field": column.name, **fields, "onFail": "warn"}, evidence)


def _not_null(column: ColumnProfile) -> Iterator[Proposal]:
    missing = column.nulls + column.empties
    if missing == 0:
        yield _rule("notNull", column, f"None of {counted(column.rows, 'row')} is empty.")
    elif missing * RARE <= column.rows:
        are = "is" if missing == 1 else "are"
        yield _rule("notNull", column, f"Only {missing:,} of {counted(column.rows, 'row')} {are} empty.")


def _field_type(column: ColumnProfile) -> Iterator[Proposal]:
    if column.is_text and column.kind != "string" and column.filled >= LEAST_ROWS:
        evidence = f"{_of_kind(column)} can be read as {column.kind}."
        yield _rule("fieldType", column, evidence, expected=column.kind)


def _of_kind(column: ColumnProfile) -> str:
    """Return how many values have the column's kind, and of how many if some do not."""
    fit = column.filled - column.strangers
    return f"{fit:,} of {counted(column.filled, 'value')}" if column.strangers else counted(fit, "value")


def _range(column: ColumnProfile) -> Iterator[Proposal]:
    least, most = column.least, column.most
    if not isinstance(least, Decimal) or not isinstance(most, Decimal) or column.distinct <= MOST_VALUES:
        return
    evidence = f"{_of_kind(column)} lie between {least:,f} and {most:,f}; the bounds include a margin."
    yield _rule("range", column, evidence, min=_bound(least, up=False), max=_bound(most, up=True))


def _bound(value: Decimal, *, up: bool) -> int | float:
    """Return a round number well beyond the value. A bound of 0 is not changed."""
    if value == 0 or (value > 0) != up:
        return 0
    size = abs(value) * 2
    unit = Decimal(10) ** size.adjusted()
    bound = next(step * unit for step in (1, 2, 5, 10) if step * unit >= size) * (1 if value > 0 else -1)
    return int(bound) if bound == bound.to_integral_value() else float(bound)


def _one_of(column: ColumnProfile) -> Iterator[Proposal]:
    """Propose only values that repeat, because an accepted rule stores them in the document, where all viewers can read
    them. A value that occurs once may be personal, such as a name; it counts as an exception."""
    repeated = {text: times for text, times in column.common if times > 1}
    known = sum(repeated.values())
    is_small = 2 <= len(repeated) <= MOST_VALUES and known >= len(repeated) * REPEATS
    is_rare = (column.filled - known) * RARE <= column.filled
    if column.kind != "string" or not is_small or not is_rare or max(map(len, repeated)) > LONGEST_VALUE:
        return
    of = f" of {column.filled:,}" if known < column.filled else ""
    evidence = f"{known:,}{of} values are {len(repeated)} different values."
    yield _rule("oneOf", column, evidence, values=sorted(repeated))


def _shape(column: ColumnProfile) -> Iterator[Proposal]:
    """Propose an address if all values are addresses, else the pattern that all known texts share."""
    if column.kind != "string" or column.distinct <= MOST_VALUES:
        return
    texts = pa.array([text for text, _ in column.common], pa.string())
    for name, kind in (("email", Email), ("url", Url)):
        rule = kind.model_validate({"type": name, "field": column.name, "onFail": "warn"})
        if not row_rule_mask(rule, texts).true_count:
            yield _rule(name, column, f"{counted(len(texts), 'different text')} all look like one.")
            return
    if pattern := pattern_of(column.common):
        yield _rule("regex", column, f"{counted(len(texts), 'different text')} all have this shape.", pattern=pattern)


def _not_in_future(column: ColumnProfile) -> Iterator[Proposal]:
    if column.kind in ("date", "timestamp") and str(column.most)[:10] <= f"{datetime.now(UTC):%Y-%m-%d}":
        evidence = f"{counted(column.filled, 'value')} range from {column.least} to {column.most}."
        yield _rule("notInFuture", column, evidence)


def _keys(columns: Sequence[ColumnProfile], rows: Sequence[Row]) -> Iterator[Proposal]:
    """Propose columns that identify every row; else columns that almost do, else pairs of columns."""
    full = [column for column in columns if column.filled == column.rows and column.kind != "float"]
    single = [column.name for column in full if column.distinct == column.rows]
    near = [] if single else [c for c in full if (c.rows - c.distinct) * RARE <= c.rows]
    yield from map(_near_key, near)
    for key in [(name,) for name in single] or ([] if near else _pairs(full, rows)):
        evidence = f"No two of {counted(len(rows), 'row')} share {' and '.join(key)}."
        yield Proposal({"columns": list(key), "onFail": "warn"}, evidence, check="duplicateKey")


def _near_key(column: ColumnProfile) -> Proposal:
    """Propose a column of which few values are shared by several rows; these rows are its hits."""
    shared = {text: times for text, times in column.common if times > 1}
    evidence = f"{counted(column.distinct, 'different value')} in {counted(column.rows, 'row')}: nearly a key."
    spec = {"columns": [column.name], "onFail": "warn"}
    return Proposal(spec, evidence, "duplicateKey", sum(shared.values()), tuple(shared)[:MOST_MISFITS])


def _pairs(full: Sequence[ColumnProfile], rows: Sequence[Row]) -> list[tuple[str, ...]]:
    best = sorted(full, key=lambda column: -column.distinct)[:KEY_COLUMNS]
    pairs: list[tuple[str, ...]] = [
        (a.name, b.name) for a, b in combinations(best, 2) if a.distinct * b.distinct >= len(rows)
    ]
    return [pair for pair in pairs if len({tuple(map(str, map(row.get, pair))) for row in rows}) == len(rows)][:1]


_KINDS: tuple[Callable[[ColumnProfile], Iterator[Proposal]], ...] = (
    _not_null,
    _field_type,
    _range,
    _one_of,
    _shape,
    _not_in_future,
)
