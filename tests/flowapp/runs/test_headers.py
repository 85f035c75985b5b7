"""The columns of files: stored once, and compared with those of the previous file of the source."""

from __future__ import annotations

from dataclasses import replace

import pytest

from executors.model import SourceFile
from flowapp.runs.load_units.headers import (
    MOST_CHARACTERS,
    MOST_COLUMNS,
    Column,
    compare,
    compare_with_previous,
    differing,
    with_previous_header,
)
from flowapp.runs.load_units.models import FileHeader, LoadUnit
from flowapp.runs.load_units.services import claim_units, fail_units
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import queue_run

FILE = SourceFile(0, "/in/a.csv", "a.csv", 10, 1)


def columns(text: str) -> list[Column]:
    """Columns as `name:type name`."""
    parts = [part.partition(":") for part in text.split()]
    return [Column(number, name, kind) for number, (name, _, kind) in enumerate(parts, 1)]


@pytest.mark.parametrize(
    ("before", "now", "found"),
    [
        ("id name", "id name", []),
        ("id name", "id name email", [("added", None, "email")]),
        ("id name email", "id email", [("dropped", "name", None)]),
        ("id name", "name id", [("moved", "id", "id")]),
        ("id Name", "id name", [("renamed", "Name", "name")]),
        ("id order_no note", "id note orderNo extra", [("renamed", "order_no", "orderNo"), ("added", None, "extra")]),
        ("id amount note", "id total note", [("renamed", "amount", "total")]),
        ("id:integer amount:integer", "id:integer total:date", [("added", None, "total"), ("dropped", "amount", None)]),
        ("id:integer", "id:bigint", [("type", "id", "id")]),
        ("id:integer", "id:", []),
        ("a:integer b:date", "b:date a:text", [("type", "a", "a"), ("moved", "a", "a")]),
        ("", "id", [("added", None, "id")]),
    ],
)
def test_columns_that_differ_are_found(before, now, found):
    def name(column: Column | None) -> str | None:
        return column and column.name

    differences = [(one.change, name(one.before), name(one.now)) for one in compare(columns(before), columns(now))]
    if "moved" in {change for change, *_ in found}:  # either of two swapped columns may count as the moved one
        assert sorted(change for change, *_ in differences) == sorted(change for change, *_ in found)
    else:
        assert differences == found


@pytest.fixture
def run(pipeline) -> Run:
    return queue_run(pipeline, Trigger.MANUAL, send=False)


def claim(run: Run, number: int, *names: str, node: str = "files") -> LoadUnit:
    sha256 = str(number) * 64
    claim_units(run, node, {sha256: replace(FILE, columns=tuple((name, "string") for name in names))}, 1)
    return LoadUnit.objects.get(sha256=sha256)


@pytest.mark.django_db
def test_files_with_the_same_columns_share_one_header(run):
    claim(run, 1, "id", "name")
    claim(run, 2, "id", "name")
    claim(run, 3, "name", "id")
    assert sorted(FileHeader.objects.values_list("columns", flat=True)) == [
        [["id", "string"], ["name", "string"]],
        [["name", "string"], ["id", "string"]],
    ]
    assert LoadUnit.objects.exclude(header=None).count() == 3


@pytest.mark.django_db
def test_a_file_is_compared_with_the_one_before_it_in_its_source(run):
    claim(run, 1, "id", "name")
    claim(run, 2, "other", node="elsewhere")
    blank = {"3" * 64: replace(FILE, columns=None)}
    fail_units(run, "files", blank, "It is empty.")
    unit = claim(run, 4, "id", "name", "email")

    found = compare_with_previous(unit)

    assert found is not None
    assert found.previous.sha256 == "1" * 64
    assert [(one.change, one.now and one.now.name) for one in found.differences] == [("added", "email")]
    assert compare_with_previous(LoadUnit.objects.get(sha256="1" * 64)) is None
    assert differing(with_previous_header(LoadUnit.objects.all())) == {unit.pk}


@pytest.mark.django_db
def test_a_file_that_fails_is_compared_too(run):
    claim(run, 1, "id", "name")
    fail_units(run, "files", {"2" * 64: replace(FILE, columns=(("id", "string"),))}, "No column 'name'.")
    assert differing(with_previous_header(LoadUnit.objects.all())) == {LoadUnit.objects.get(sha256="2" * 64).pk}


@pytest.mark.django_db
def test_very_wide_files_and_long_names_are_stored_in_part(run):
    wide = claim(run, 1, *(f"c{number}" for number in range(MOST_COLUMNS + 5)))
    long = claim(run, 2, "x" * 5_000 + "1\0", "x" * 5_000 + "2")
    assert wide.header is not None
    assert (len(wide.header.columns), wide.header.total) == (MOST_COLUMNS, MOST_COLUMNS + 5)
    assert long.header is not None
    assert len({name for name, _ in long.header.columns}) == 2
    assert all(len(name) <= MOST_CHARACTERS for name, _ in long.header.columns)
    found = compare_with_previous(long)
    assert found is not None
    assert found.is_partial


@pytest.mark.django_db
def test_the_list_reads_all_headers_with_few_queries(run, django_assert_max_num_queries):
    for number in range(1, 8):
        claim(run, number, "id", f"c{number % 3}")
    units = list(with_previous_header(LoadUnit.objects.all()))
    with django_assert_max_num_queries(1):
        assert len(differing(units)) == 6
