"""A stream repeats windows under one run; the target always equals the source."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from executors.errors import Cancelled, Failure, Transient
from executors.load_record import LoadCommit
from executors.runs.stream import run_stream
from tests.databases import connect_to
from tests.executors.postgres_cdc.mirror import Mirror

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


@dataclass
class Control:
    """Ends the stream after a number of windows; calls `before` with the number of each."""

    windows: int
    before: Callable[[int], None] = lambda number: None
    begun: int = 0
    ended: list[bool] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def begin_window(self) -> bool:
        if self.begun == self.windows:
            return False
        self.before(self.begun)
        self.begun += 1
        return True

    def end_window(self, began: float, *, has_more: bool) -> None:
        assert time.time() - 60 < began <= time.time()
        self.ended.append(has_more)

    def fail_window(self, failure: Failure, seconds: float) -> None:
        self.failed.append(failure.code)


def start(mirror: Mirror, control: Control, document: dict | None = None, **job: object) -> list[LoadCommit]:
    commits: list[LoadCommit] = []
    mirror.memory.on_committed = commits.append
    made = replace(mirror.job(document or mirror.pipeline()), **job)
    run_stream(made, replace(mirror.memory.ports(), stream=control))
    return commits


TABLE = (
    "create table s (id int primary key, name text)",
    "insert into s select i, 'n' || i from generate_series(1, 100) i",
)


def test_windows_follow_each_other_under_one_marker(mirror: Mirror) -> None:
    mirror.at_source(*TABLE)
    changes = ["select 1", "update s set name = 'x' where id <= 5", "delete from s where id = 1", "select 1"]
    control = Control(4, lambda number: mirror.at_source(changes[number]))
    commits = start(mirror, control)
    assert mirror.difference() == []
    assert (control.ended, control.failed) == ([False] * 4, [])
    counts = {(c.counts.inserted, c.counts.updated, c.counts.deleted) for c in commits}
    assert counts == {(100, 0, 0), (0, 5, 0), (0, 0, 1)}
    with connect_to(mirror.warehouse) as connection:
        rows = connection.execute(
            "select count(*) from flow_meta.load_commits where run_id = %s", [commits[0].run_id]
        ).fetchone()
    assert rows == (1,)


def test_a_new_attempt_reports_the_last_commit_and_continues_after_it(mirror: Mirror) -> None:
    mirror.at_source(*TABLE)
    job = mirror.job(mirror.pipeline())
    start(mirror, Control(1), run_id=job.run_id)
    mirror.at_source("insert into s values (101, 'new')")
    commits = start(mirror, Control(1), run_id=job.run_id, attempt=2, token=job.token + 5)
    assert [c.counts.inserted for c in commits] == [100, 1]  # the first one is that of the earlier attempt
    assert mirror.difference() == []


def test_a_transient_failure_is_repeated(mirror: Mirror) -> None:
    mirror.at_source(*TABLE)

    def before(number: int) -> None:
        if number == 1:
            mirror.at_source("insert into s values (101, 'new')")
            mirror.memory.on_step = fail

    def fail(step: str, node: str | None) -> None:
        if step == "load":
            mirror.memory.on_step = lambda step, node: None
            raise Transient("target.lost", "The connection was lost.")

    control = Control(3, before)
    start(mirror, control)
    assert (control.ended, control.failed) == ([False, False], ["target.lost"])
    assert mirror.difference() == []


def test_a_cancellation_ends_the_stream_between_windows(mirror: Mirror) -> None:
    mirror.at_source(*TABLE)

    class Stopping(Control):
        def end_window(self, began: float, *, has_more: bool) -> None:
            mirror.memory.stop = Cancelled("run.cancelled", "enough")

    with pytest.raises(Cancelled):
        start(mirror, Stopping(2))
    assert mirror.difference() == []


def test_rejected_rows_of_earlier_windows_stay_in_quarantine(mirror: Mirror) -> None:
    mirror.at_source(*TABLE)
    rules = [{"type": "regex", "field": "name", "pattern": "n[0-9]+", "onFail": "skip"}]
    changes = ["select 1", *(f"update s set name = repeat('x', 20) where id = {i}" for i in (1, 2, 2))]
    start(
        mirror,
        Control(4, lambda number: mirror.at_source(changes[number])),
        mirror.pipeline(rules=rules),
    )
    with connect_to(mirror.warehouse) as connection:
        rows = connection.execute(f"select row->>'id' from {mirror.schema}.rejected order by id").fetchall()
    assert [row[0] for row in rows] == ["1", "2", "2"]
