"""A stream repeats windows under one run; the target always equals the source."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from executors.errors import Cancelled, Failure, Transient
from executors.load_record import LoadCommit
from executors.postgres_cdc import log_watch
from executors.runs import stream
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
        assert time.time() - 3600 < began <= time.time()
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


RULES = [{"type": "regex", "field": "name", "pattern": "n[0-9]+", "onFail": "skip"}]


def statuses(mirror: Mirror, field: str = "id") -> list[tuple[str, str]]:
    with connect_to(mirror.warehouse) as connection:
        query = f"select row->>'{field}', status from {mirror.schema}.rejected order by id"
        return connection.execute(query).fetchall()


def test_rejected_rows_of_earlier_windows_stay_open_until_a_later_version_arrives(mirror: Mirror) -> None:
    mirror.at_source(*TABLE)
    changes = [
        "select 1",
        "update s set name = 'bad' where id <= 4",
        "update s set name = 'n9' where id = 1",
        "delete from s where id = 2",
        "update s set name = 'worse' where id = 3",
    ]
    start(mirror, Control(5, lambda number: mirror.at_source(changes[number])), mirror.pipeline(rules=RULES))
    found = statuses(mirror)
    assert sorted(found) == [
        ("1", "superseded"), ("2", "superseded"), ("3", "open"), ("3", "superseded"), ("4", "open"),
    ]  # fmt: skip
    assert found[-1] == ("3", "open")


def test_rejected_rows_are_found_under_the_name_that_the_key_has_at_the_source(mirror: Mirror) -> None:
    mirror.at_source(*TABLE)
    ops = [{"op": "rename", "columns": {"id": "number"}}]
    document = mirror.pipeline(ops=ops, rules=RULES)
    mirror.run_once(document)
    mirror.at_source("update s set name = 'bad' where id <= 2")
    mirror.run_once(document)
    mirror.at_source("update s set name = 'n1' where id = 1")
    mirror.run_once(document)
    assert [status for _, status in sorted(statuses(mirror))] == ["superseded", "open"]


def test_a_stream_without_changes_runs_no_windows_and_releases_the_log(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.at_source(*TABLE, "create table other (t text)")
    windows: list[int] = []
    run = stream.run_pipeline
    monkeypatch.setattr(stream, "run_pipeline", lambda job, ports: windows.append(control.begun) or run(job, ports))
    monkeypatch.setattr(log_watch, "STALE_SECONDS", 0.0)
    many = "insert into other select repeat(md5(i::text), 50) from generate_series(1, 15000) i"
    before = {6: many, 9: "update s set name = 'x' where id = 1"}
    control = Control(11, lambda number: mirror.at_source(before.get(number, "select 1")))
    start(mirror, control)
    # The snapshot and a window without changes, after which the stream watches; the log of the other table, and a
    # window without changes; the update.
    assert windows == [1, 2, 7, 8, 10, 11]
    assert (control.failed, mirror.difference()) == ([], [])
    with mirror.session() as connection:
        row = connection.execute("select pg_current_wal_lsn() - '0/0'").fetchone()
    assert row is not None
    assert row[0] - mirror.confirmed() < 1 << 20
