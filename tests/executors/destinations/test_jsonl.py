"""A destination that is not a database runs the same steps of a load as PostgreSQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from executors.errors import Cancelled, Failure, LeaseLost, Terminal
from tests.connectors.storages import STORAGES
from tests.destinations.jsonl.world import JsonlWorld, folder_of, register
from tests.executors.conformance.world import FORMATS, reconciles, target_of

pytestmark = pytest.mark.spark
ROWS = [{"id": 1, "name": "Ann"}, {"id": 2, "name": 'Bé,\n"b"'}, {"id": 3, "name": None}]


@pytest.fixture
def world(tmp_path: Path, spark: object, encryption_keys: str, monkeypatch: pytest.MonkeyPatch) -> JsonlWorld:
    register(monkeypatch)
    return JsonlWorld(tmp_path, folder_of(tmp_path), "lake", files=STORAGES["local_fs"](tmp_path, monkeypatch))


def test_a_rejected_row_is_counted_and_excluded(world: JsonlWorld) -> None:
    world.write("a", FORMATS["csv"](ROWS))

    report = world.run(world.document(rules=[{"type": "notNull", "field": "name", "onFail": "skip"}]))

    assert world.loaded() == ROWS[:2]
    assert target_of(report).rows_rejected == 1
    assert reconciles(report)


def test_a_rule_that_aborts_leaves_the_table_as_it_was(world: JsonlWorld) -> None:
    world.write("a", FORMATS["csv"](ROWS))

    with pytest.raises(Terminal) as caught:
        world.run(world.document(rules=[{"type": "notNull", "field": "name", "onFail": "abort"}]))

    assert caught.value.code == "rule.abort"
    assert world.loaded() == []
    assert not list((world.folder / "lake").rglob("*.rows")), "staging is left"


@pytest.mark.parametrize("step", ["pass", "load"])
def test_a_cancelled_load_is_taken_up_by_the_next(world: JsonlWorld, step: str) -> None:
    world.write("a", FORMATS["csv"](ROWS))

    def stop(name: str, node: str | None) -> None:
        if name == step:
            raise Cancelled("run.cancelled", "Cancelled.")

    world.memory.on_step = stop
    with pytest.raises(Failure):
        world.run(world.document())
    world.memory.on_step = lambda name, node: None

    assert target_of(world.run(world.document())).rows_loaded == 3
    assert world.loaded() == ROWS


def test_an_attempt_behind_a_newer_fence_loads_nothing(world: JsonlWorld) -> None:
    world.write("a", FORMATS["csv"](ROWS))
    world.run(world.document(), token=9)
    world.write("b", FORMATS["csv"](ROWS))

    with pytest.raises(LeaseLost):
        world.run(world.document(), token=8)

    assert world.loaded() == ROWS


@pytest.mark.parametrize(
    ("about", "what"),
    [
        ({"mode": "truncate"}, "loadMode truncate"),
        ({"hold": {"maxDecreasePct": 10}}, "holds"),
        ({"checks": {"rowCount": {"min": 1, "onFail": "abort"}}}, "checks"),
        ({"backupBeforeLoad": True}, "undo"),
        ({"quarantine": True}, "quarantine"),
    ],
)
def test_what_it_cannot_do_is_refused_before_anything_is_read(world: JsonlWorld, about: dict, what: str) -> None:
    world.write("a", FORMATS["csv"](ROWS))

    with pytest.raises(Terminal, match=what) as caught:
        world.run(world.document(**about))

    assert caught.value.code == "destination.not_supported"
    assert [name for name, _ in world.memory.steps] == ["start"]


def test_a_preview_is_refused(world: JsonlWorld) -> None:
    with pytest.raises(Terminal, match="previews"):
        world.preview(world.document())
