"""Files that two pipelines read, that are still being written, or that another program replaces during a run."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from executors.errors import Failure, Terminal, Transient
from tests.executors.conformance.world import Memory, World
from tests.tiers import pair

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

FOLDERS = {"stagingFolder": ".doing/", "successFolder": ".done/", "failureFolder": ".failed/"}


@pytest.fixture
def moving(world: World) -> dict[str, Any]:
    """Return a pipeline that moves its files, and loads numbers into a table."""
    world.sql("create table t (id int, name text)")
    return world.document(source={"atomicity": FOLDERS})


def named(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {**document, "id": name}


def beside(world: World) -> World:
    """Return another pipeline with the same folder and tables."""
    return World(world.folder, world.warehouse, world.schema, Memory(), world.tenant)


def once(world: World, step: tuple[str, str], then: Callable[[], object]) -> None:
    """Call a function at a step of the next run that reaches the step."""

    def on_step(name: str, node: str | None) -> None:
        if (name, node) == step:
            world.memory.on_step = lambda name, node: None
            then()

    world.memory.on_step = on_step


# --- two pipelines, one folder -------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [("scan", "src"), ("pass", "load"), ("load", "load")])
def test_a_live_claim_is_no_leftover_for_another_pipeline(
    world: World, moving: dict[str, Any], step: tuple[str, str]
) -> None:
    world.write("a", "id,name\n1,Ann\n")
    found: list[str] = []

    def other_runs() -> None:
        with pytest.raises(Terminal) as refused:
            world.run(named(moving, "other"))
        found.append(str(refused.value))

    once(world, step, other_runs)
    world.run(moving)
    assert world.rows() == [(1, "Ann")]
    assert ["'case'" in text for text in found] == [True]
    assert (world.folder / "in/.done/a").exists()


def test_a_claim_of_a_dead_attempt_is_taken_up_by_its_own_pipeline_alone(world: World, moving: dict[str, Any]) -> None:
    world.write("a", "id,name\n1,Ann\n")

    class PowerCut(BaseException):
        pass

    def die() -> None:
        raise PowerCut

    once(world, ("load", "load"), die)
    with pytest.raises(PowerCut):
        world.run(moving)
    world.write("b", "id,name\n2,Bob\n")
    beside(world).run(named(moving, "other"))
    assert world.rows() == [(2, "Bob")]
    world.run(moving)
    assert world.rows() == [(1, "Ann"), (2, "Bob")]
    assert not world.claimed("*")


def test_pipelines_that_run_at_once_load_each_file_once(world: World, moving: dict[str, Any]) -> None:
    moving["nodes"][0]["config"]["waitPolicy"]["onMissAction"] = "skip"
    for number in range(40):
        world.write(f"{number:02}", f"id,name\n{number},x\n")
    worlds = [beside(world) for _ in range(3)]
    failures: list[BaseException] = []

    def run(own: World, name: str) -> None:
        for _ in range(2):
            try:
                own.run(named(moving, name))
            except Failure as failure:
                if failure.code != "target.busy":
                    failures.append(failure)

    threads = [threading.Thread(target=run, args=(own, f"p{n}")) for n, own in enumerate(worlds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for own, name in zip(worlds, ("p0", "p1", "p2"), strict=True):
        own.run(named(moving, name))
    assert world.rows("id") == [(number,) for number in range(40)]


def test_an_attempt_that_wakes_up_late_loads_nothing_and_moves_nothing(world: World, moving: dict[str, Any]) -> None:
    world.write("a", "id,name\n1,Ann\n")
    once(world, ("pass", "load"), lambda: world.run(moving))
    with pytest.raises(Failure):
        world.run(moving)
    assert world.rows() == [(1, "Ann")]
    assert (world.folder / "in/.done/a").exists()


# --- files that are still written ----------------------------------------------------------------------------


@pytest.fixture
def slow_copy(world: World) -> Iterator[Callable[[float], None]]:
    """Copy a file in two halves, and set its time after each, as many programs do."""
    threads = []

    def copy(ahead: float) -> None:
        path = world.folder / "in" / "a"
        path.parent.mkdir(parents=True, exist_ok=True)

        def write(content: str) -> None:
            with path.open("a") as file:
                file.write(content)
            os.utime(path, (time.time() + ahead, time.time() + ahead))

        write("id,name\n1,Ann\n")
        threads.append(threading.Timer(1, write, ("2,Bob\n",)))
        threads[-1].start()

    yield copy
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("ahead", [86400.0, -86400.0], ids=["ahead", "old"])
def test_a_file_that_grows_is_waited_for_whatever_its_time_says(
    world: World, slow_copy: Callable[[float], None], ahead: float
) -> None:
    world.sql("create table t (id int, name text)")
    document = world.document(source={"waitPolicy": {"settleSeconds": 2, "onMissAction": "skip"}})
    slow_copy(ahead)
    assert world.run(document).nothing_new
    assert world.run(document).nodes
    assert world.rows() == [(1, "Ann"), (2, "Bob")]
    assert len(world.memory.states) == 1


# --- files that are replaced ---------------------------------------------------------------------------------


def swap(path: Path, content: str) -> None:
    """Replace the file by another one with the same size and time."""
    new = path.with_name(".new")
    new.write_text(content)
    shutil.copystat(path, new)
    new.rename(path)


def overwrite(path: Path, content: str) -> None:
    status = path.stat()
    path.write_text(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def truncate(path: Path, content: str) -> None:
    os.truncate(path, 8)


def append(path: Path, content: str) -> None:
    with path.open("a") as file:
        file.write("3,Cid\n")


@pytest.mark.parametrize(
    ("step", "change"), pair([("scan", "src"), ("pass", "load")], [swap, overwrite, truncate, append])
)
def test_a_file_that_changes_after_it_was_listed_fails_and_the_next_run_loads_what_it_is_then(
    world: World, change: Callable[[Path, str], None], step: tuple[str, str]
) -> None:
    world.sql("create table t (id int, name text)")
    path = world.write("a", "id,name\n1,Ann\n")
    document = world.document()
    once(world, step, lambda: change(path, "id,name\n2,Bob\n"))
    with pytest.raises(Transient) as failure:
        world.run(document)
    assert failure.value.code == "source.changed"
    assert world.rows() == []
    world.run(document)
    expected = {swap: [(2, "Bob")], overwrite: [(2, "Bob")], truncate: [], append: [(1, "Ann"), (3, "Cid")]}
    assert world.rows() == expected[change]


def test_a_second_name_for_a_file_is_the_same_file(world: World) -> None:
    world.sql("create table t (id int, name text)")
    path = world.write("a", "id,name\n1,Ann\n")
    (path.parent / "b").hardlink_to(path)
    (path.parent / "c").symlink_to(path)
    report = world.run(world.document())
    assert world.rows() == [(1, "Ann")]
    assert [warning.code for warning in report.warnings] == ["file.repeated"] * 2


def test_a_link_that_leads_elsewhere_between_listing_and_reading_changes_nothing(world: World) -> None:
    world.sql("create table t (id int, name text)")
    path = world.write("a", "id,name\n1,Ann\n")
    other = world.folder / "other"
    other.write_text("id,name\n2,Bob\n")
    once(world, ("scan", "src"), lambda: (path.unlink(), path.symlink_to(other)))
    with pytest.raises(Transient) as failure:
        world.run(world.document())
    assert (failure.value.code, world.rows()) == ("source.changed", [])
