"""Two pipelines that load one table at the same time have the same result as one after the other."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executors.errors import TargetBusy
from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.report import RunReport
from flowapp.embedded.processes import wait_until
from tests.executors.conformance.world import Memory, World, reconciles
from tests.executors.row_modes import ROW_MODES

PAIRS = list(itertools.combinations_with_replacement(ROW_MODES, 2))
OLD = {1: "old", 2: "old"}
KEYS = {
    "append": (20, 21),
    "incremental_watermark": (40, 41),
    "upsert": (2, 10),
    "truncate": (30, 31),
    "blue_green": (30, 31),
}
"""What a mode loads: keys that others of its kind have too only where it can take them."""


@pytest.fixture
def world(tmp_path: Path, warehouse: Connection, schema: str, encryption_keys: str) -> World:
    world = World(tmp_path, warehouse, schema)
    world.sql("create table t (id int unique, name text); insert into t values (1, 'old'), (2, 'old')")
    return world


WAITING = "select count(*) from pg_stat_activity where application_name = any(%s) and wait_event_type = 'Lock'"


class Loader:
    """A pipeline with the mode that writes its own name into its rows. It waits until the other one is ready too."""

    def __init__(self, world: World, mode: str, name: str, ready: threading.Barrier) -> None:
        first, second = KEYS[mode]
        if mode in ("append", "incremental_watermark") and name == "b":
            first, second = first + 2, second + 2
        self.mode, self.rows = mode, {first: name, second: name}
        self._ready = ready
        self._world = replace(world, folder=world.folder / name, memory=Memory(on_step=self._wait))
        self._world.write("rows", "id,name\n" + "".join(f"{key},{name}\n" for key in self.rows))
        self._document = {**world.document(mode=mode), "id": name}
        self.run_id = str(uuid.uuid4())

    def _wait(self, step: str, node: str | None) -> None:
        if step == "load":
            self._ready.wait(90)
            self._world.memory.on_step = lambda step, node: None

    def run(self) -> RunReport:
        """Run a pipeline as the queue does: again if the table was busy."""
        for attempt in itertools.count(1):
            try:
                return self._world.run(self._document, run_id=self.run_id, attempt=attempt)
            except TargetBusy:
                time.sleep(0.1)
        raise AssertionError

    def after(self, rows: Mapping[int, str]) -> dict[int, str]:
        """Return the rows of the table after this pipeline has loaded them alone."""
        return dict(self.rows) if self.mode in ("truncate", "blue_green") else {**rows, **self.rows}


def in_some_order(loaders: Sequence[Loader]) -> list[dict[int, str]]:
    first, second = loaders
    return [second.after(first.after(OLD)), first.after(second.after(OLD))]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=map("-".join, PAIRS))
def test_it_ends_as_if_one_had_loaded_after_the_other(world: World, one: str, other: str) -> None:
    ready = threading.Barrier(2)
    loaders = [Loader(world, one, "a", ready), Loader(world, other, "b", ready)]
    with ThreadPoolExecutor(2) as pool, closing(connect(world.warehouse)) as holder:
        ensure_meta(holder)
        # The first pipeline has written everything except its marker when the other one starts.
        holder.execute("LOCK TABLE flow_meta.load_commits IN SHARE ROW EXCLUSIVE MODE")
        reports = [pool.submit(loader.run) for loader in loaders]
        assert wait_until(lambda: world.sql(WAITING, [f"flow run {loader.run_id}" for loader in loaders]) == [(2,)], 90)
        holder.rollback()
    rows: list[tuple[Any, ...]] = world.rows("id, name")
    assert rows in [sorted(end.items()) for end in in_some_order(loaders)]
    assert all(reconciles(report.result()) for report in reports)
    commits = "select count(*) from flow_meta.load_commits where run_id = any(%s)"
    assert world.sql(commits, [loader.run_id for loader in loaders]) == [(2,)]
