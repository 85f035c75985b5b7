"""A failed source never counts as an empty one, and an empty source clears a table only if the document allows it."""

from __future__ import annotations

import pytest

from executors.errors import Failure, Terminal
from executors.formats.small_files import SMALL_BYTES
from tests.executors.conformance.world import World, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.every_connector]


@pytest.fixture(params=["truncate", "blue_green"])
def mode(request: pytest.FixtureRequest) -> str:
    """The load modes that clear a table for an empty source."""
    return str(request.param)


@pytest.fixture
def filled(world: World) -> World:
    world.sql(
        "create table t (id int primary key, name text); insert into t select n, 'old' from generate_series(1, 5) n"
    )
    return world


def count(world: World) -> int:
    return int(world.sql("select count(*) from t")[0][0])


def test_an_empty_file_is_refused_with_the_numbers(filled: World, mode: str) -> None:
    filled.write("a", "id,name\n")
    with pytest.raises(Terminal) as stopped:
        filled.run(filled.document(mode=mode))
    assert stopped.value.code == "source.empty"
    assert "failOnEmptySource" in stopped.value.hint
    assert count(filled) == 5


def test_rows_that_all_rules_drop_are_refused_too(filled: World, mode: str) -> None:
    filled.write("a", "id,name\n1,\n2,\n")
    rules = [{"type": "notNull", "field": "name", "onFail": "skip"}]
    with pytest.raises(Terminal) as stopped:
        filled.run(filled.document(mode=mode, rules=rules, failAtRejectedPct=0))
    assert stopped.value.code == "source.empty"
    assert "2 rejected" in stopped.value.message
    assert count(filled) == 5


def test_a_truly_empty_source_may_clear_the_table_when_confirmed(filled: World, mode: str) -> None:
    filled.write("a", "id,name\n")
    report = filled.run(filled.document(mode=mode, failOnEmptySource=False))
    assert count(filled) == 0
    assert target_of(report).rows_loaded == 0


@pytest.mark.parametrize("guard", [True, False])
def test_a_source_that_breaks_never_clears_the_table(filled: World, guard: bool, mode: str) -> None:
    filled.write("a", b'[{"id": 1, "name": "x"}, {"id": 2')
    with pytest.raises(Failure) as stopped:
        filled.run(filled.document(mode=mode, format="json", failOnEmptySource=guard))
    assert stopped.value.code == "source.malformed"
    assert count(filled) == 5


@pytest.mark.parametrize("guard", [True, False])
def test_a_file_that_changes_under_the_run_never_clears_the_table(filled: World, guard: bool, mode: str) -> None:
    # A small file of a store is loaded as it was scanned, so a large one must change.
    filled.write("a", f"id,name\n1,{'x' * SMALL_BYTES}\n")

    def shorten(step: str, node: str | None) -> None:
        if step == "pass":
            filled.write("a", "id,name\n")

    filled.memory.on_step = shorten
    with pytest.raises(Failure) as stopped:
        filled.run(filled.document(mode=mode, failOnEmptySource=guard))
    assert stopped.value.code == "source.changed"
    assert count(filled) == 5


@pytest.mark.parametrize("action", ["alert", "skip"])
def test_a_miss_is_not_an_empty_source(filled: World, action: str, mode: str) -> None:
    filled.storage.make()
    document = filled.document(mode=mode, failOnEmptySource=False, source={"waitPolicy": {"onMissAction": action}})
    report = filled.run(document)
    assert report.nothing_new
    assert count(filled) == 5
    reported = ["source.missed"] if action == "alert" else []
    assert [kind for kind, _ in filled.memory.alerts] == reported
    assert [warning.code for warning in report.warnings] == reported


def test_who_hears_of_a_miss_hears_of_files_without_rows_too(filled: World) -> None:
    filled.write("a", "id,name\n")
    report = filled.run(filled.document(source={"waitPolicy": {"settleSeconds": 0, "onMissAction": "alert"}}))
    assert [kind for kind, _ in filled.memory.alerts] == ["source.empty"]
    assert [warning.code for warning in report.warnings] == ["source.empty"]


def test_a_miss_fails_the_run_by_default(filled: World, mode: str) -> None:
    filled.storage.make()
    with pytest.raises(Terminal) as stopped:
        filled.run(filled.document(mode=mode))
    assert stopped.value.code == "source.no_files"
