"""A load that would load none of the rows that came, for all were rejected, fails and names the cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from executors.errors import Terminal
from executors.runs.sample import sample_pipeline
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

FOLDERS = {"atomicity": {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}}
ORDERS = "Bestellnr;Kunde;Betrag\n" + "".join(f"{n};Jürgen Müller;{n},50\n" for n in range(200))
LATIN, ONE_COLUMN = "not UTF-8, looks like Windows-1252", "one column, ';' looks like the delimiter"


def put_orders(world: World, encoding: str = "cp1252") -> Path:
    return world.write("orders.csv", ORDERS.encode(encoding))


def tables(world: World) -> list[str]:
    return [name for (name,) in world.sql("select tablename from pg_tables where schemaname = %s", world.schema)]


def stopped_by(world: World, document: dict[str, Any]) -> Terminal:
    with pytest.raises(Terminal) as stopped:
        world.run(document)
    return stopped.value


def test_a_file_in_another_encoding_with_another_delimiter_fails_by_default(world: World) -> None:
    path = put_orders(world)
    document = world.document(source=FOLDERS)
    failure = stopped_by(world, document)
    assert failure.code == "rows.too_many_rejected"
    assert f"All 200 rows were rejected: {LATIN}; {ONE_COLUMN}. The target was not loaded." in failure.message
    assert tables(world) == ["rejected"], "no table is made"
    assert world.sql("select disposition, count(*) from rejected group by 1") == [("not_loaded", 200)]
    assert path.exists()
    report = failure.report
    assert report is not None
    assert (target_of(report).rows_read, target_of(report).rows_rejected, reconciles(report)) == (200, 200, True)


def test_such_a_file_is_not_taken_for_loaded_with_others(world: World) -> None:
    names = "".join(f"{n},Jürgen\n" for n in range(3))
    bad = world.write("a.csv", f"id,name\n{names}".encode("cp1252"))
    world.write("b.csv", "id,name\n7,Ann\n8,Bob\n")
    failure = stopped_by(world, world.document(source=FOLDERS))
    assert failure.code == "rows.too_many_rejected"
    assert f"All 3 rows of in/a.csv were rejected: {LATIN}. The target was not loaded." in failure.message
    assert tables(world) == ["rejected"]
    bad.unlink()
    assert target_of(world.run(world.document(source=FOLDERS))).rows_loaded == 2


def test_a_file_whose_rows_all_break_a_rule_stops_no_other(world: World) -> None:
    world.write("a.csv", "id,name\n1,\n")
    world.write("b.csv", "id,name\n7,Ann\n")
    report = world.run(world.document(rules=[{"type": "notNull", "field": "name", "onFail": "skip"}]))
    assert (target_of(report).rows_rejected, target_of(report).rows_loaded) == (1, 1)


def test_the_file_is_loaded_once_its_settings_are_right(world: World) -> None:
    put_orders(world)
    for _ in range(2):
        stopped_by(world, world.document(source=FOLDERS))
    document = world.document(
        source={**FOLDERS, "format": {"type": "csv", "encoding": "windows-1252", "delimiter": ";"}}
    )
    assert target_of(world.run(document)).rows_loaded == 200
    assert world.sql('select "Kunde" from t limit 1') == [("Jürgen Müller",)]
    assert world.sql("select status, count(*) from rejected group by 1") == [("fixed", 400)]


@pytest.mark.parametrize("declared", [[{"name": "Kunde", "type": "string"}], None], ids=["declared", "in the header"])
def test_a_header_that_cannot_be_read_names_the_cause_too(world: World, declared: Any) -> None:
    path = world.write("orders.csv", "Größe;Kunde\n1;Ann\n".encode("cp1252"))
    failure = stopped_by(world, world.document(source=FOLDERS, columns=declared))
    assert failure.code == "source.header_unreadable"
    assert LATIN in failure.message
    assert ONE_COLUMN in failure.message
    assert path.exists()


def test_a_declared_column_that_is_missing_for_the_delimiter_s_sake_names_it(world: World) -> None:
    path = put_orders(world, "utf-8")
    failure = stopped_by(world, world.document(source=FOLDERS, columns=[{"name": "Kunde", "type": "string"}]))
    assert failure.code == "source.column_missing"
    assert ONE_COLUMN in failure.message
    assert path.exists()


def test_one_column_that_loads_is_warned_about(world: World) -> None:
    world.write("a.csv", "id;name\n1;Ann\n2;Bob\n")
    report = world.run(world.document())
    (warning,) = report.warnings
    assert ONE_COLUMN in warning.message


def test_the_rule_that_rejects_everything_is_named(world: World) -> None:
    path = world.write("a.csv", "id,name\n1,\n2,\n")
    rules = [
        {"type": "notNull", "field": "name", "onFail": "skip"},
        {"type": "range", "field": "id", "max": 1, "onFail": "skip"},
    ]
    failure = stopped_by(world, world.document(rules=rules, source=FOLDERS))
    assert failure.code == "rows.too_many_rejected"
    assert "notNull on 'name'" in failure.message
    assert "range" not in failure.message
    assert path.exists()


def test_a_limit_below_all_rows_counts_as_well(world: World) -> None:
    world.write("a.csv", "id,name\n1,\n2,Bob\n3,Cem\n4,Dee\n")
    rules = [{"type": "notNull", "field": "name", "onFail": "skip"}]
    failure = stopped_by(world, world.document(rules=rules, failAtRejectedPct=25))
    assert "1 of 4 rows were rejected (25 %)" in failure.message
    assert target_of(world.run(world.document(rules=rules, failAtRejectedPct=26))).rows_loaded == 3


def test_without_a_limit_a_load_that_rejects_every_row_succeeds(world: World) -> None:
    world.write("a.csv", "id,name\n1,\n")
    rules = [{"type": "notNull", "field": "name", "onFail": "skip"}]
    report = world.run(world.document(rules=rules, failAtRejectedPct=0))
    assert (target_of(report).rows_rejected, target_of(report).rows_loaded, reconciles(report)) == (1, 0, True)


def test_a_row_that_is_filtered_is_not_one_that_was_rejected(world: World) -> None:
    world.write("a.csv", "id,name\n1,Ann\n2,Bob\n")
    report = world.run(world.document(ops=[{"op": "filter", "where": "id = '3'"}]))
    assert (target_of(report).rows_filtered, target_of(report).rows_loaded) == (2, 0)


def test_a_preview_fails_for_the_same_reason(world: World) -> None:
    put_orders(world)
    with pytest.raises(Terminal, match=LATIN):
        world.preview(world.document())


def test_a_sample_of_such_a_file_reports_the_cause(world: World) -> None:
    put_orders(world)
    with pytest.raises(Terminal) as stopped:
        sample_pipeline(world.job(world.document()), world.memory.ports())
    assert stopped.value.code == "source.nothing_readable"
    assert LATIN in stopped.value.message
    assert ONE_COLUMN in stopped.value.message
