"""The highest value of a field, the records near it, and the parameter for the next load."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from executors.errors import InvalidContent
from executors.http_api import incremental as module
from executors.http_api.incremental import IncrementalProgress
from ir.connectors.http_api import Incremental

NOW = datetime(2024, 6, 1, tzinfo=UTC)


def since(*values: str, state: str | None = None, **incremental: Any) -> IncrementalProgress:
    made = IncrementalProgress(Incremental(parameter="since", field="at", **incremental), "src", state, NOW)
    for number, value in enumerate(values, start=1):
        made.add(record(value, number), number)
    return made


def record(value: str, number: int) -> str:
    return f'{{"id": {number}, "at": {value}}}'


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (['"2024-01-02"', '"2024-01-10"', '"2024-01-09"'], "2024-01-10"),
        (["9", "10", "8.5"], "10"),
        (['"2024-01-01T00:00:00+02:00"', '"2023-12-31T23:00:00Z"'], "2023-12-31T23:00:00Z"),
        (['"2024-01-01T00:00:00Z"', "null", '""'], "2024-01-01T00:00:00Z"),
        (["null"], None),
    ],
)
def test_the_highest_value_counts(values: list[str], expected: str | None) -> None:
    assert since(*values).value == expected


def test_it_does_not_fall_behind_the_last_load() -> None:
    assert since('"2024-01-01"', state=since('"2024-03-01"').state).value == "2024-03-01"


def test_a_later_time_than_now_does_not_count() -> None:
    found = since('"2024-05-01"', '"2099-01-01"')
    assert (found.value, found.ahead) == ("2024-05-01", 1)


@pytest.mark.parametrize(
    "values", [['"soon"'], ["5", '"2024-01-01"'], ['"01/02/2024"'], ['"2024-W01-1"'], ['"2099-01-01"', "5"]]
)
def test_values_that_cannot_be_compared_are_refused(values: list[str]) -> None:
    with pytest.raises(InvalidContent) as refused:
        since(*values)
    assert refused.value.code == "http_api.field_unreadable"


@pytest.mark.parametrize(
    ("value", "overlap", "expected"),
    [
        ('"2024-03-01T00:00:30Z"', None, "2024-02-29T23:59:30Z"),
        ('"2024-03-01T00:00:30.125+01:00"', "1h", "2024-02-29T23:00:30.125+01:00"),
        ('"2024-03-01 08:00:00"', "1d", "2024-02-29 08:00:00"),
        ('"2024-03-01"', None, "2024-02-29"),
        ("1000", None, "999"),
        ("1000.5", 0, "1000.5"),
        ("123456789012345678", 10, "123456789012345668"),
        ("123456789012345678901234567890", None, "123456789012345678901234567889"),
        ('"0001-01-01T00:00:00Z"', None, "0001-01-01T00:00:00Z"),
        ('"2024-03-01"', 1e300, "0001-01-01"),
        ('"2024-03-01t00:00:00,123456789z"', None, "2024-02-29T23:59:00.123456Z"),
    ],
)
def test_the_next_load_asks_for_the_overlap_too(value: str, overlap: Any, expected: str) -> None:
    given = {} if overlap is None else {"overlap": overlap}
    state = since(value, **given).state
    assert since(state=state, **given).parameter == expected


# --- records that change while pages are read ---------------------------------------------------------------------


def paged(*pages: list[str], shift: bool = False) -> str | None:
    """Return the value after pages of values, which the server sends at 1:00, 2:00, … of the day before NOW."""
    made = IncrementalProgress(Incremental(parameter="since", field="at"), "src", None, NOW, shift=shift)
    for hour, values in enumerate(pages, start=1):
        made.begin_page(datetime(2024, 5, 31, hour, tzinfo=UTC).timestamp())
        for value in values:
            made.add(record(value, hour), 1)
    state = made.state
    return json.loads(state)["value"] if state is not None else None


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ([["1", "2"], ["3", "4"]], "4"),  # a later change is behind
        ([["4", "3"], ["2", "1"]], "4"),  # and here it is before the first page
        ([["1", "4"], ["9", "2"]], "4"),  # here 5 to 8 may have been given on the first page
        ([["9", "2"]], "9"),
        ([['"2024-05-01 09:00:00"'], ['"2024-05-02 09:00:00"', '"2024-05-01 10:00:00"']], "2024-05-01 09:00:00"),
        ([['"2024-05-01T09:00:00Z"'], ['"2024-05-02T09:00:00Z"', '"2024-05-01T10:00:00Z"']], "2024-05-02T09:00:00Z"),
        ([['"2024-05-01"'], ['"2024-05-03"', '"2024-05-02"']], "2024-05-03"),
    ],
)
def test_no_change_is_lost_that_happens_on_a_page_that_was_read(pages: list[list[str]], expected: str) -> None:
    assert paged(*pages) == expected


def test_a_clock_of_the_service_that_is_behind_counts() -> None:
    """The record changes when the second page is read, and so may one of the first page have a minute before."""
    pages = [['"2024-05-30T00:00:00Z"', '"2024-05-31T01:20:00Z"'], ['"2024-05-29T00:00:00Z"']]
    assert paged(*pages) == "2024-05-30T00:00:00Z"


def test_a_change_that_moves_records_to_earlier_pages_begins_there_again() -> None:
    """The record of 02:30 moves behind the others. One of the third page may have moved to the second one."""
    pages = [
        ['"2024-05-01T00:00:00Z"'],
        ['"2024-05-02T00:00:00Z"'],
        ['"2024-05-04T00:00:00Z"', '"2024-05-31T02:30:00Z"'],
    ]
    assert paged(*pages) == "2024-05-04T00:00:00Z"
    assert paged(*pages, shift=True) == "2024-05-02T00:00:00Z"
    assert paged(*pages[:2], ['"2024-05-04T00:00:00Z"'], shift=True) == "2024-05-04T00:00:00Z"


def test_only_times_far_from_the_clock_are_ahead() -> None:
    assert since('"2024-06-01T00:04:00Z"').ahead == 0
    assert since('"2024-06-01T00:06:00Z"').ahead == 1


def test_the_first_load_asks_for_the_start() -> None:
    assert since(start="2024-01-01").parameter == "2024-01-01"
    assert since().parameter is None


def test_records_of_the_overlap_are_known_unless_they_have_changed() -> None:
    later = since(state=since('"2024-03-01"', '"2024-02-28"', '"2024-02-29"', '"2099-01-01"').state)
    arrivals = [record('"2024-03-01"', 1), record('"2024-03-01"', 5), record('"2024-02-29"', 3)]
    assert [later.add(text, n) for n, text in enumerate(arrivals)] == [False, True, False]
    assert not later.add(record('"2099-01-01"', 4), 4)


def test_records_that_arrived_again_are_still_known_to_the_load_after() -> None:
    second = since('"2024-03-01"', state=since('"2024-03-01"').state)
    assert not since(state=second.state).add(record('"2024-03-01"', 1), 1)


def test_the_state_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SEEN", 3)
    assert len(json.loads(since(*["5"] * 100).state or "")["seen"]) == 3
    assert len(since(*['"2099-01-01"'] * 100)._near) <= 7


def test_all_records_from_which_the_next_load_begins_are_known() -> None:
    pages = IncrementalProgress(Incremental(parameter="since", field="at"), "src", None, now=NOW)
    for page in (["1", "4"], ["9", "2"]):
        pages.begin_page(None)
        for value in page:
            pages.add(record(value, int(value)), int(value))
    state = pages.state
    assert json.loads(state or "")["value"] == "4"
    later = IncrementalProgress(Incremental(parameter="since", field="at"), "src", state, now=NOW)
    assert not later.add(record("4", 4), 1)
