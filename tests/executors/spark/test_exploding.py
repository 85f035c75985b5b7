"""Rows of elements, made where records are read: none is lost, and those of a record stay together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executors.errors import Terminal
from executors.spark import exploding
from executors.spark.exploding import ELEMENTS, Explode, explode, whole_records
from executors.validation import BAD, ELEMENT, FILE, RECORD

STEP = Explode("doc", "item", "keep", "unreadable", "large", (), keep_empty=False, empty_as_null=True)


def records(docs: list[str | None], bad: list[str | None] | None = None) -> pa.RecordBatch:
    count = len(docs)
    return pa.RecordBatch.from_pydict(
        {
            FILE: pa.array([0] * count, pa.int32()),
            RECORD: pa.array(range(1, count + 1), pa.int64()),
            BAD: pa.array(bad or [None] * count, pa.string()),
            "doc": pa.array(docs, pa.string()),
            "name": pa.array([f"n{i}" for i in range(1, count + 1)], pa.string()),
        }
    )


def rows(batch: pa.RecordBatch, step: Explode = STEP) -> list[dict[str, Any]]:
    return [row for piece in explode(batch, step) for row in piece.to_pylist()]


def test_what_is_no_array_stays_one_row_with_its_flag() -> None:
    found = rows(records(["[1]", "{}", "x", "3", None, "", "null"], [None] * 7))
    assert [row["unreadable"] for row in found] == [False, True, True, True, False, False, False]
    assert [row["keep"] for row in found] == [True, True, True, True, False, False, False]


def test_a_record_that_could_not_be_read_and_one_with_a_flag_are_kept_for_the_verdict() -> None:
    batch = records(["[1, 2]", "[1, 2]"], ["short", None]).append_column("flag", pa.array([False, True]))
    found = rows(batch, replace(STEP, bad=("flag",)))
    assert [(row[RECORD], row["keep"], row["unreadable"], row["item"]) for row in found] == [
        (1, True, False, None),
        (2, True, True, None),
    ]


def test_values_that_nothing_reads_are_in_the_first_row_alone() -> None:
    found = rows(records(["[1, 2]", "[3, 4]"]), replace(STEP, once=("doc",)))
    assert [row["doc"] for row in found] == ["[1, 2]", None, "[3, 4]", None]
    assert [row["name"] for row in found] == ["n1", "n1", "n2", "n2"]


def test_a_record_whose_rows_would_take_too_much_is_flagged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploding, "MOST_RECORD_BYTES", 1000)
    found = rows(records([json.dumps(list(range(50))), "[1]"]))
    assert [(row[RECORD], row["large"], row["keep"], row["item"]) for row in found] == [
        (1, True, True, None),
        (2, False, True, "1"),
    ]


def test_pieces_are_bounded_and_part_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exploding, "BATCH_BYTES", 500)
    pieces = list(explode(records([json.dumps(list(range(n))) for n in (3, 40, 2, 0, 5)]), STEP))
    assert len(pieces) > 2
    together = [sorted(set(piece.column(RECORD).to_pylist())) for piece in pieces]
    assert [record for some in together for record in some] == [1, 2, 3, 4, 5]


def cut(batches: Iterator[pa.RecordBatch], every: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from (batch.slice(start, every) for start in range(0, batch.num_rows, every))


@pytest.mark.parametrize("every", [1, 2, 3, 100])
def test_records_that_were_cut_are_put_together_again(every: int) -> None:
    made = list(explode(records(["[1, 2, 3, 4, 5]", "[]", "[6]", "[7, 8]"]), STEP))
    found = list(whole_records(cut(iter(made), every)))
    assert pa.Table.from_batches(found).equals(pa.Table.from_batches(made))
    for batch in found:
        last = batch.slice(batch.num_rows - 1).to_pylist()[0]
        assert (last[ELEMENT] or 0) + 1 == last[ELEMENTS]


@pytest.mark.parametrize("lost", range(5))
def test_a_row_that_is_lost_on_the_way_is_noticed(lost: int) -> None:
    (made,) = explode(records(["[1, 2, 3]", "[7, 8]"]), STEP)
    left = made.filter(pa.array([row != lost for row in range(5)]))
    with pytest.raises(Terminal) as raised:
        list(whole_records(iter([left])))
    assert raised.value.code == "rows.lost"


values = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5) | st.just({"a": [1]})
documents = (
    st.none() | st.just("") | st.lists(values, max_size=6).map(json.dumps) | st.sampled_from(["{}", "[", "7", "null"])
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(docs=st.lists(documents, min_size=1, max_size=12), keep_empty=st.booleans(), every=st.integers(1, 7))
def test_rows_are_those_of_a_plain_reference(docs: list[str | None], keep_empty: bool, every: int) -> None:
    expected = []
    for record, doc in enumerate(docs, 1):
        try:
            value = json.loads(doc) if doc else []
        except ValueError:
            value = "no JSON"
        elements = [] if value is None else value
        if not isinstance(elements, list):
            expected.append((record, None, None, True))
        elif elements:
            expected += [(record, i, element, True) for i, element in enumerate(elements)]
        else:
            expected.append((record, None, None, keep_empty))
    pieces = whole_records(cut(explode(records(docs), replace(STEP, keep_empty=keep_empty)), every))
    found = [row for piece in pieces for row in piece.to_pylist()]
    shown = [(row[RECORD], row[ELEMENT], row["item"] and json.loads(row["item"]), row["keep"]) for row in found]
    assert shown == expected
