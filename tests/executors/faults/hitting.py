"""Attempts with a fault at a step: killed, their database sessions ended, or their connections cut."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest
from psycopg import sql

from executors.postgres.client import connect
from executors.postgres.staging import staging_tables, sweep_leftovers
from flowapp.embedded.processes import wait_until
from tests.executors.conformance.world import World
from tests.executors.faults.faulty_run import AFTER_COMMIT, Spec, carry_out, carry_out_apart
from tests.executors.faults.proxy import Relay

FORKS = multiprocessing.get_context("forkserver")
"""Attempts begin as copies of a process that has everything imported."""
FORKS.set_forkserver_preload([carry_out.__module__])

PATIENCE = 300
"""Seconds for a step that an attempt is to reach: Spark may have to be started first, and the machine be busy."""
IN_PASS, IN_TRANSACTION = "in the pass", "in the transaction"
WITHIN = {IN_PASS: "pass", IN_TRANSACTION: "load"}
"""Where an attempt waits for a lock, and the step that it has come from."""
COMMITTED = (AFTER_COMMIT, "post_hooks", "finish")


class Attempt:
    """An attempt that stops at a step: in a process of its own, which can be killed, or in a thread, which needs no
    start of Spark."""

    def __init__(self, world: World, spec: Spec, *, is_apart: bool = True) -> None:
        self._world, self._run_id = world, spec.run_id
        self._pipe, its_end = (FORKS.Pipe if is_apart else multiprocessing.Pipe)()
        self._process = FORKS.Process(target=carry_out_apart, args=(spec, its_end)) if is_apart else None
        (self._process or Thread(target=carry_out, args=(spec, its_end), daemon=True)).start()
        if is_apart:
            its_end.close()

    def __enter__(self) -> Attempt:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process:
            self.kill()
            self._process.close()
        self._pipe.close()

    def wait_at(self, step: str) -> None:
        assert self._hear() == f"at {step}"

    def let_go_on(self) -> None:
        """Let the attempt continue, and do not wait for its result."""
        self._pipe.send("go on")

    def kill(self) -> None:
        assert self._process
        if self._process.is_alive() and self._process.pid:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:  # it has just ended, or has not become the head of a group yet
                self._process.kill()
        self._process.join()

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process
        assert self._process.pid
        os.killpg(self._process.pid, number)

    def end_sessions(self) -> None:
        query = "select pid from pg_stat_activity where " + self._sessions
        pids = [pid for (pid,) in self._world.sql(query)]
        assert pids
        self._world.sql("select pg_terminate_backend(p) from unnest(%s) p", pids)
        assert wait_until(lambda: not self._world.sql(query + " and pid = any(%s)", pids), 20)

    def has_sessions(self, also: str = "true") -> bool:
        return bool(self._world.sql(f"select pid from pg_stat_activity where {self._sessions} and {also}"))

    @property
    def rejects(self) -> sql.Identifier:
        return staging_tables(self._run_id, "load", 1).rejects_identifier

    @property
    def _sessions(self) -> str:
        return f"application_name = 'flow run {self._run_id}'"

    def go_on(self) -> str:
        """Let the attempt run to its end, and return its result."""
        self._pipe.send("go on")
        return self._hear()

    def _hear(self) -> str:
        assert self._pipe.poll(PATIENCE), "nothing was heard of it"
        try:
            return str(self._pipe.recv())
        except EOFError:
            return "died"


@contextmanager
def at(world: World, attempt: Attempt, step: str) -> Iterator[None]:
    """Wait until the attempt is at the step of the fault, and block it there while the block runs. In the pass it waits
    for the table of rejects after it has sent rows; in the transaction it waits for the table of markers, its last
    write.
    """
    if step not in WITHIN:
        attempt.wait_at(step)
        yield
        return
    with closing(connect(world.warehouse)) as holder, ThreadPoolExecutor(1) as pool:
        attempt.wait_at(WITHIN[step])
        table = {IN_PASS: attempt.rejects, IN_TRANSACTION: sql.Identifier("flow_meta", "load_commits")}[step]
        holder.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(table))
        ending = pool.submit(attempt.go_on)
        assert wait_until(lambda: ending.done() or attempt.has_sessions("wait_event_type = 'Lock'"), PATIENCE)
        assert not ending.done(), f"it did not get there: {ending.result()}"
        yield
        holder.rollback()
        ending.result()


def killed(attempt: Attempt, relay: Relay) -> None:
    attempt.kill()


def session_ended(attempt: Attempt, relay: Relay) -> None:
    attempt.end_sessions()


def connection_cut(attempt: Attempt, relay: Relay) -> None:
    relay.cut()


def answer_lost(attempt: Attempt, relay: Relay) -> None:
    """Let the attempt commit, but lose the answer of the server."""
    relay.lose_answer_to(b"COMMIT")
    assert attempt.go_on() == "ended target.lost"


def begin(
    world: World, document: dict[str, Any], step: str, relay: Relay, *, is_apart: bool = True, **about: Any
) -> Attempt:
    """Start an attempt that connects to the database through the relay and stops at the step."""
    warehouse = replace(world.warehouse, host="127.0.0.1", port=relay.port)
    token, stop = next(world.tokens), WITHIN.get(step, step)
    spec = Spec(world.folder, warehouse, world.schema, world.tenant, token, document=document, step=stop, **about)
    return Attempt(world, spec, is_apart=is_apart)


def hit(
    world: World, document: dict[str, Any], step: str, fault: Callable[[Attempt, Relay], None], **about: Any
) -> None:
    """Run an attempt with a fault at the step, and to its end if it survives the fault."""
    with Relay(world.warehouse.host, world.warehouse.port) as relay:
        with begin(world, document, step, relay, is_apart=fault is killed, **about) as attempt:
            with at(world, attempt, step):
                fault(attempt, relay)
            if step not in WITHIN and fault in (session_ended, connection_cut):
                attempt.go_on()
        assert wait_until(lambda: not attempt.has_sessions(), 60), "a session is left"


FAULTS = [killed, session_ended, connection_cut]
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)


def staged(world: World, run_id: str) -> int:
    """Return the staging tables that remain after the tables of the run's dead attempts were dropped."""
    with closing(connect(world.warehouse, autocommit=True)) as conn:
        sweep_leftovers(conn, lambda run, attempt: run == run_id)
    return int(
        world.sql(
            "select count(*) from pg_class where relnamespace = 'flow_staging'::regnamespace"
            " and obj_description(oid, 'pg_class') like %s",
            f"%{run_id}%",
        )[0][0]
    )
