"""Profiles the columns of a sample: filled values, distinct values, type, and range."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from executors.grammar import exact_of
from executors.rules import row_rule_mask
from ir.rules import FieldType

Value = str | int | float | bool | None
Row = Mapping[str, Any]
NO_TYPES: Mapping[str, str] = MappingProxyType({})

GUESSED = ("integer", "float", "boolean", "date", "timestamp", "uuid")
"""Types that a text column is tested for, the narrower first."""


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """`kind` is the first type that all values except `strangers` of them parse as, or `string`; `is_text` means that
    the values are texts. `least` and `most` are numbers or, for dates and times, texts."""

    name: str
    rows: int
    nulls: int
    empties: int
    distinct: int
    kind: str
    is_text: bool
    strangers: int
    least: Decimal | str | None
    most: Decimal | str | None
    longest: int
    common: tuple[tuple[str, int], ...]

    @property
    def filled(self) -> int:
        return self.rows - self.nulls - self.empties


def profile_columns(rows: Sequence[Row], types: Mapping[str, str] = NO_TYPES) -> list[ColumnProfile]:
    """Return a profile of each column, in order of first appearance. Dates and decimals also arrive as text; only
    `types` distinguishes them from text."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [_profile(name, [row.get(name) for row in rows], types.get(name, "string")) for name in names]


def texts_of(rows: Sequence[Row], name: str) -> pa.Array:
    """Return a column as the text that rules evaluate."""
    return pa.array([_text(row.get(name)) for row in rows], pa.string())


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, dict | list | float) else str(value)


def _profile(name: str, values: Sequence[Any], type: str) -> ColumnProfile:
    texts = [_text(value) for value in values]
    filled = [text for text in texts if text]
    counts = Counter(filled)
    kind, is_strange = _kind_of(counts)
    good = [text for text, is_one in zip(counts, is_strange, strict=True) if not is_one]
    least, most = _bounds(kind, good)
    lengths = [len(text) for text in filled] or [0]
    return ColumnProfile(
        name=name,
        rows=len(values),
        nulls=sum(text is None for text in texts),
        empties=sum(text == "" for text in texts),
        distinct=len(counts),
        kind=kind,
        is_text=type == "string" and any(isinstance(value, str) for value in values),
        strangers=len(filled) - sum(counts[text] for text in good),
        least=least,
        most=most,
        longest=max(lengths),
        common=tuple(counts.most_common()),
    )


def _kind_of(counts: Counter[str]) -> tuple[str, list[bool]]:
    """Return the narrowest type that at least 99 of a hundred values fit, and which of the texts do not fit."""
    array, total = pa.array(list(counts), pa.string()), counts.total()
    for kind in GUESSED if counts else ():
        rule = FieldType.model_validate({"type": "fieldType", "field": "x", "expected": kind, "onFail": "warn"})
        strangers: list[bool] = row_rule_mask(rule, array).to_pylist()
        strange = sum(count for count, is_one in zip(counts.values(), strangers, strict=True) if is_one)
        if strange * 100 <= total:
            return kind, strangers
    return "string", [False] * len(counts)


def _bounds(kind: str, texts: Sequence[str]) -> tuple[Decimal | str | None, Decimal | str | None]:
    if kind in ("integer", "float"):
        numbers = [number for text in texts if (number := exact_of(text.strip())).is_finite()]
        return (min(numbers), max(numbers)) if numbers else (None, None)
    if kind in ("date", "timestamp"):
        return (min(texts), max(texts)) if texts else (None, None)
    return None, None
