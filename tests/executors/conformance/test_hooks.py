"""Hooks in runs: a hook before the load can stop it, a hook after it cannot undo it, and no hook runs again after a
crash."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from executors import target_hooks
from executors.errors import Cancelled, Failure, LeaseLost
from executors.hooks import posting
from executors.load_record import LoadCommit
from tests.executors.conformance.world import World
from tests.receivers import HOST, Receiver, drip, flood, make_certificates, open_network, receiving, status

ROWS = "id,name\n1,Ann\n2,Bo\n"
BAD: dict[str, Any] = {"type": "sql", "statement": "ANALYZE no_such_table"}
VIEW = "CREATE MATERIALIZED VIEW seen AS SELECT count(*) AS n FROM t"


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    made = make_certificates(tmp_path, HOST)
    open_network(monkeypatch, made.ca, {HOST: [["127.0.0.1"]]}, "127.0.0.1/32")
    with receiving(made) as server:
        yield server


@pytest.fixture
def loaded(world: World) -> World:
    """A target with an old row, a view over it, and a file with two new rows."""
    world.sql("create table t (id int primary key, name text)")
    world.sql("insert into t values (0, 'old')")
    world.sql(VIEW)
    world.write("a.csv", ROWS)
    return world


def states(report: Any) -> dict[str, str]:
    return {hook.id: hook.state for hook in report.hooks}


def refresh(world: World) -> dict[str, Any]:
    return {"type": "refresh_mat_view", "view": f"{world.schema}.seen"}


def test_hooks_run_around_the_load_and_are_reported(loaded: World, receiver: Receiver):
    document = loaded.document(
        preHook={"type": "sql", "statement": "SET work_mem = '8MB'"},
        postHook=[{"type": "sql", "statement": "ANALYZE t"}, refresh(loaded), {"type": "webhook", "url": receiver.url}],
    )
    report = loaded.run(document)
    assert states(report) == dict.fromkeys(
        ["load.preHook.0", "load.postHook.0", "load.postHook.1", "load.postHook.2"], "succeeded"
    )
    assert loaded.sql("select n from seen") == [(3,)]
    (request,) = receiver.requests
    assert request.json["counts"]["rowsLoaded"] == 2
    assert "Ann" not in request.body.decode()
    shown = {hook.id: hook.to_json() for hook in report.hooks}
    assert shown["load.postHook.0"]["statement"] == "ANALYZE t"
    assert shown["load.postHook.0"].keys() == {
        "id",
        "node",
        "kind",
        "stage",
        "state",
        "statement",
        "message",
        "durationMs",
    }


def test_what_a_pre_hook_sets_holds_in_the_load_and_not_after_it(loaded: World):
    loaded.sql(
        "create function note() returns trigger language plpgsql as"
        " $$ begin new.name := current_setting('work_mem'); return new; end $$"
    )
    loaded.sql("create trigger note before insert on t for each row execute function note()")
    loaded.run(loaded.document(preHook={"type": "sql", "statement": "SET work_mem = '8765kB'"}))
    assert loaded.rows() == [(0, "old"), (1, "8765kB"), (2, "8765kB")]


def test_a_pre_hook_that_fails_stops_before_the_load(loaded: World):
    with pytest.raises(Failure) as caught:
        loaded.run(loaded.document(preHook=[refresh(loaded), BAD, refresh(loaded)]))
    assert caught.value.code == "hook.failed"
    assert "load.preHook.1" in caught.value.message
    assert loaded.rows() == [(0, "old")]
    assert states(caught.value.report) == {"load.preHook.0": "succeeded", "load.preHook.1": "failed"}


def test_a_pre_hook_stops_before_a_table_that_would_be_new(world: World):
    world.write("a.csv", ROWS)
    with pytest.raises(Failure):
        world.run(world.document(preHook=BAD))
    assert world.sql("select to_regclass('t')") == [(None,)]


def test_a_post_hook_that_fails_leaves_the_load_and_keeps_later_ones_from_running(loaded: World, receiver: Receiver):
    document = loaded.document(postHook=[refresh(loaded), BAD, {"type": "webhook", "url": receiver.url}])
    report = loaded.run(document)
    assert states(report) == {
        "load.postHook.0": "succeeded",
        "load.postHook.1": "failed",
        "load.postHook.2": "not_run",
    }
    assert loaded.rows() == [(0, "old"), (1, "Ann"), (2, "Bo")]
    assert receiver.requests == []
    assert [kind for kind, _ in loaded.memory.alerts] == ["hook.failed"]
    assert set(loaded.memory.states.values()) == {"committed"}


@pytest.mark.parametrize("stage", ["preHook", "postHook"])
@pytest.mark.parametrize("trouble", ["drips", "refuses", "redirects"])
def test_a_webhook_in_trouble(stage: str, trouble: str, loaded: World, receiver: Receiver, monkeypatch):
    monkeypatch.setattr(posting, "TOTAL_SECONDS", 1.0)
    receiver.answers["/x"] = {
        "drips": drip(receiver, b"HTTP/1.1 200 OK\r\n", 0.2),
        "refuses": status(500),
        "redirects": status(307, Location="/"),
    }[trouble]
    document = loaded.document(**{stage: {"type": "webhook", "url": f"{receiver.url}/x"}})
    if stage == "preHook":
        with pytest.raises(Failure, match=r"^hook\.failed"):
            loaded.run(document)
        assert loaded.rows() == [(0, "old")]
    else:
        assert states(loaded.run(document)) == {"load.postHook.0": "failed"}
        assert len(loaded.rows()) == 3
    assert receiver.paths() == ["/x"]


@pytest.mark.parametrize("stage", ["preHook", "postHook"])
def test_a_gigabyte_of_answer_is_no_trouble(stage: str, loaded: World, receiver: Receiver):
    receiver.answers["/x"] = flood(receiver)
    report = loaded.run(loaded.document(**{stage: {"type": "webhook", "url": f"{receiver.url}/x"}}))
    assert states(report) == {f"load.{stage}.0": "succeeded"}
    assert len(loaded.rows()) == 3


def test_without_anything_new_no_hook_runs(loaded: World, receiver: Receiver):
    document = loaded.document(
        preHook={"type": "webhook", "url": receiver.url}, postHook={"type": "webhook", "url": receiver.url}
    )
    loaded.run(document)
    assert len(receiver.requests) == 2
    assert loaded.run(document).hooks == []
    assert len(receiver.requests) == 2


class WorkerDied(Exception):
    """Ends a process without a message."""


def test_after_a_crash_only_what_is_not_done_is_done(loaded: World, receiver: Receiver):
    document = loaded.document(
        preHook={"type": "webhook", "url": f"{receiver.url}/before"},
        postHook=[
            {"type": "webhook", "url": f"{receiver.url}/first"},
            {"type": "webhook", "url": f"{receiver.url}/second"},
        ],
    )

    def die(commit: LoadCommit) -> None:
        if commit.hooks_done:
            raise WorkerDied

    run_id, loaded.memory.on_committed = str(uuid.uuid4()), die
    with pytest.raises(WorkerDied):
        loaded.run(document, run_id=run_id)
    loaded.memory.on_committed = lambda commit: None
    report = loaded.run(document, run_id=run_id, attempt=2)
    assert receiver.paths() == ["/before", "/first", "/second"]
    assert states(report) == dict.fromkeys(["load.preHook.0", "load.postHook.0", "load.postHook.1"], "succeeded")
    assert loaded.rows() == [(0, "old"), (1, "Ann"), (2, "Bo")]
    assert loaded.memory.commits["load"].hooks_done == ("load.postHook.0", "load.postHook.1")


def test_a_webhook_that_is_sent_again_after_a_crash_has_the_same_key(loaded: World, receiver: Receiver, monkeypatch):
    document = loaded.document(postHook={"type": "webhook", "url": f"{receiver.url}/x"})
    run_id = str(uuid.uuid4())

    def die(*_: object) -> None:
        raise WorkerDied

    with monkeypatch.context() as patched:
        patched.setattr("executors.postgres.meta.add_hook_done", die)
        with pytest.raises(WorkerDied):
            loaded.run(document, run_id=run_id)
    assert states(loaded.run(document, run_id=run_id, attempt=2)) == {"load.postHook.0": "succeeded"}
    keys = [request.headers["idempotency-key"] for request in receiver.requests]
    assert keys == [f"{run_id}.load.postHook.0"] * 2
    assert len(loaded.rows()) == 3


def test_a_run_that_is_cancelled_in_a_post_hook_stays_loaded(loaded: World, receiver: Receiver):
    def cancel(handler: Any) -> None:
        loaded.memory.stop = Cancelled("run.cancelled", "The run was cancelled by a person.")
        loaded.memory.interrupt()
        status(204)(handler)

    receiver.answers["/x"] = cancel
    document = loaded.document(postHook=[{"type": "webhook", "url": f"{receiver.url}/x"}, refresh(loaded)])
    report = loaded.run(document)
    assert states(report) == {"load.postHook.0": "failed", "load.postHook.1": "not_run"}
    assert report.hooks[0].message == "The run was cancelled by a person."
    assert len(loaded.rows()) == 3


def test_a_run_that_is_cancelled_in_a_pre_hook_loads_nothing(loaded: World, receiver: Receiver):
    def cancel(handler: Any) -> None:
        loaded.memory.stop = Cancelled("run.cancelled", "The run was cancelled by a person.")
        loaded.memory.interrupt()

    receiver.answers["/x"] = cancel
    with pytest.raises(Cancelled):
        loaded.run(loaded.document(preHook={"type": "webhook", "url": f"{receiver.url}/x"}))
    assert loaded.rows() == [(0, "old")]


def test_a_worker_that_lost_its_run_leaves_the_hooks_to_the_next(loaded: World, receiver: Receiver):
    def lose(commit: LoadCommit) -> None:
        loaded.memory.stop = LeaseLost("run.lease_lost", "Another worker has it.")

    run_id, loaded.memory.on_committed = str(uuid.uuid4()), lose
    document = loaded.document(postHook={"type": "webhook", "url": receiver.url})
    with pytest.raises(LeaseLost):
        loaded.run(document, run_id=run_id)
    assert receiver.requests == []
    loaded.memory.on_committed, loaded.memory.stop = (lambda commit: None), None
    assert states(loaded.run(document, run_id=run_id, attempt=2)) == {"load.postHook.0": "succeeded"}


def test_a_function_of_a_package_runs_after_the_load(loaded: World, tmp_path: Path):
    into = tmp_path / "seen.json"
    hook = {"type": "custom_function", "function": "flow-test.note", "args": {"into": str(into)}}
    assert states(loaded.run(loaded.document(postHook=hook))) == {"load.postHook.0": "succeeded"}
    assert json.loads(into.read_text())["load"]["counts"]["rowsLoaded"] == 2


# --- before a swap ------------------------------------------------------------------------------------------------


def test_a_hook_before_the_swap_runs_while_readers_see_the_old_rows(loaded: World, receiver: Receiver):
    seen: list[Any] = []

    def look(handler: Any) -> None:
        seen.append(loaded.rows())
        status(204)(handler)

    receiver.answers["/before"] = look
    loaded.sql("drop materialized view seen")
    hooks = [
        {"type": "webhook", "url": f"{receiver.url}/after"},
        {"type": "webhook", "url": f"{receiver.url}/before", "when": "pre_swap"},
    ]
    report = loaded.run(loaded.document(mode="blue_green", postHook=hooks))
    assert receiver.paths() == ["/before", "/after"]
    assert seen == [[(0, "old")]]
    assert loaded.rows() == [(1, "Ann"), (2, "Bo")]
    assert [(hook.id, hook.stage) for hook in report.hooks] == [
        ("load.postHook.1", "preSwap"),
        ("load.postHook.0", "postHook"),
    ]


@pytest.mark.parametrize("stands_in_the_way", [True, False], ids=["in place", "swap"])
def test_a_hook_before_the_swap_that_fails_keeps_the_old_table(
    stands_in_the_way: bool, loaded: World, receiver: Receiver
):
    if not stands_in_the_way:
        loaded.sql("drop materialized view seen")
    receiver.answers["/x"] = status(500)
    before = loaded.sql("select 't'::regclass::oid")
    hook = {"type": "webhook", "url": f"{receiver.url}/x", "when": "pre_swap"}
    with pytest.raises(Failure, match="hook before the swap") as caught:
        loaded.run(loaded.document(mode="blue_green", postHook=hook))
    assert caught.value.code == "hook.failed"
    assert loaded.rows() == [(0, "old")]
    assert loaded.sql("select 't'::regclass::oid") == before


@pytest.mark.parametrize("stands_in_the_way", [True, False], ids=["in place", "swap"])
@pytest.mark.parametrize("statement", ["ANALYZE t", "VACUUM t"])
def test_a_hook_before_the_swap_does_not_wait_for_the_backup_of_its_own_load(
    stands_in_the_way: bool, statement: str, loaded: World
):
    if not stands_in_the_way:
        loaded.sql("drop materialized view seen")
    hook = {"type": "sql", "statement": statement, "when": "pre_swap"}
    report = loaded.run(loaded.document(mode="blue_green", backupBeforeLoad=True, postHook=hook))
    assert states(report) == {"load.postHook.0": "succeeded"}
    assert loaded.rows() == [(1, "Ann"), (2, "Bo")]
    [(rows,)] = loaded.sql("select n_rows from flow_meta.backups where target_schema = %s", loaded.schema)
    assert rows == 1


def test_a_hook_before_the_swap_that_would_keep_readers_out_does_not_wait_for_its_own_load_for_long(
    loaded: World, monkeypatch: pytest.MonkeyPatch
):
    loaded.sql("drop materialized view seen")
    monkeypatch.setattr(target_hooks, "LOCK_TIMEOUT", "300ms")
    hook = {"type": "sql", "statement": "CLUSTER t USING t_pkey", "when": "pre_swap"}
    with pytest.raises(Failure, match="could not get its locks within 300ms") as caught:
        loaded.run(loaded.document(mode="blue_green", postHook=hook))
    assert "remove `when`" in caught.value.hint
    assert loaded.rows() == [(0, "old")]
