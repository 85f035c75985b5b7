"""Text that is not UTF-8 never causes an internal error, and is never a value."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from executors.grammar import convert_column
from executors.grammar.broken_text import without_broken, without_broken_bytes
from executors.model import StageColumn
from executors.rules import ROW_RULES, row_rule_mask
from executors.validation.target import finish_column
from ir.rules import RULES
from ir.types import SIMPLE_TYPES, STRING, ColumnType

RAW = (b"abc", "é".encode(), b"\xffA", None, b"\xc3", b"\xa9")
BROKEN = [False, False, True, False, True, True]
"""The last two are a character together, and none alone."""


def texts() -> pa.Array:
    """Return bytes as text without decoding them, as a cast in Spark does."""
    raw = pa.array(RAW, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(raw), raw.buffers(), raw.null_count)


@pytest.mark.parametrize("start", [0, 1, 3])
def test_broken_texts_are_found_in_any_part_of_a_column(start):
    readable, broken = without_broken(texts().slice(start))
    assert broken.to_pylist() == BROKEN[start:]
    assert readable.to_pylist() == ["abc", "é", None, None, None, None][start:]
    assert without_broken(texts().slice(0, 2))[1] is None
    assert without_broken_bytes(texts()).to_pylist() == ["abc", "é", "\ufffdA", None, "\ufffd", "\ufffd"]


@pytest.mark.parametrize("kind", [*SIMPLE_TYPES, "decimal(9,2)", "pg:inet"])
def test_they_are_bad_for_every_type(kind):
    typed, bad = convert_column(texts(), ColumnType.parse(kind))
    assert [is_bad for is_bad, is_broken in zip(bad.to_pylist(), BROKEN, strict=True) if is_broken] == [True] * 3
    assert typed.filter(pa.array(BROKEN)).null_count == 3


SETTINGS = {
    "regex": {"pattern": "."},
    "range": {"min": 0},
    "maxLength": {"max": 9},
    "minLength": {"min": 1},
    "fieldType": {"expected": "json"},
    "oneOf": {"values": ["abc", "é"]},
    "notOneOf": {"values": ["x"]},
    "jsonSchema": {"schema": {}},
}


@pytest.mark.parametrize("kind", sorted(ROW_RULES.keys() - {"expression"}))
def test_they_violate_every_rule(kind):
    rule = RULES[kind].model_validate({"type": kind, "field": "x", "onFail": "skip", **SETTINGS.get(kind, {})})
    found = row_rule_mask(rule, texts(), now=datetime.now(UTC)).to_pylist()
    assert [violates for violates, is_broken in zip(found, BROKEN, strict=True) if is_broken] == [True] * 3


def test_a_column_of_a_target_says_what_is_wrong_with_them():
    typed, problems = finish_column(StageColumn("t", STRING, nullable=False), texts())
    assert {problem.kind: problem.mask.to_pylist() for problem in problems} == {
        "notNull": [False, False, False, True, False, False],
        "text": BROKEN,
    }
    assert "hex()" in problems[1].message
    assert typed.null_count == 4
