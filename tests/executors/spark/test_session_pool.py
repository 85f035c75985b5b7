"""A process with a Spark Connect server: sessions that runs reuse, a restarted server, and a server that is down."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from flowapp.embedded.processes import wait_until
from tests.executors.spark.servers import connect_server, free_port, java_of

pytestmark = pytest.mark.slow

PRELUDE = """
import os, signal, time
from executors.errors import Failure
from executors.spark.errors import translate
from executors.spark.jobs import frame_of_numbers
from executors.spark.session import RunSession, answers

def worker_and_daemon_of(run):
    def ask(batches):
        import pyarrow as pa

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"worker": [os.getpid()], "daemon": [os.getppid()]})

    return frame_of_numbers(run.start(), 1).mapInArrow(ask, "worker long, daemon long").collect()[0]

def daemon_of(run):
    return worker_and_daemon_of(run)[1]

def wait_for_end_of(process):
    for _ in range(120):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(1)
    raise TimeoutError

def say(*words):
    print(*words, flush=True)
"""


def process(code: str, address: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        env={**os.environ, "FLOW_SPARK_REMOTE": address},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    print(file=process.stdin, flush=True)


def output_of(code: str, address: str) -> str:
    with process(code, address) as asked:
        answer, _ = asked.communicate(timeout=300)
    assert asked.returncode == 0
    return answer.strip()


def test_runs_one_after_another_have_the_same_workers_and_those_at_once_their_own(tmp_path: Path) -> None:
    with connect_server(tmp_path, Fernet.generate_key().decode()) as address:
        assert (
            output_of(
                """
            daemons = set()
            for _ in range(8):
                with RunSession() as one:
                    daemons.add(daemon_of(one))
            with RunSession() as one, RunSession() as other:
                say(len(daemons), len({daemon_of(one), daemon_of(other)}))
        """,
                address,
            )
            == "1 2"
        )


def test_a_run_that_was_interrupted_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    with connect_server(tmp_path, Fernet.generate_key().decode()) as address:
        assert (
            output_of(
                """
            with RunSession() as first:
                ended = daemon_of(first)
                first.interrupt()
            with RunSession() as second:
                say(daemon_of(second) == ended)
        """,
                address,
            )
            == "False"
        )


def test_workers_are_started_again_after_an_idle_time_that_ended_them(tmp_path: Path) -> None:
    with connect_server(tmp_path, Fernet.generate_key().decode()) as address:
        assert (
            output_of(
                """
            with RunSession() as run:
                worker, daemon = worker_and_daemon_of(run)
                wait_for_end_of(worker)
                for _ in range(2):
                    os.kill(daemon, signal.SIGALRM)
                    time.sleep(1)
                wait_for_end_of(daemon)
                say(worker_and_daemon_of(run)[1] == daemon)
        """,
                address,
            )
            == "False"
        )


def test_a_server_that_was_started_again_is_used_again_and_one_that_is_gone_keeps_nobody(tmp_path: Path) -> None:
    keys, port = Fernet.generate_key().decode(), free_port()
    with connect_server(tmp_path / "first", keys, port) as address:
        worker = process(
            """
            with RunSession() as run:
                daemon_of(run)
            say(answers())
            input()
            say(answers(), answers())
            with RunSession() as run:
                say(daemon_of(run) > 0)
            input()
        """,
            address,
        )
        assert hear(worker) == "True"
    with connect_server(tmp_path / "second", keys, port):
        go_on(worker)
        assert (hear(worker), hear(worker)) == ("False True", "True")
    with worker:
        go_on(worker)
        assert worker.wait(60) == 0


@pytest.mark.parametrize("happens", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_server_that_falls_silent_in_mid_run_ends_the_run_within_a_minute(
    tmp_path: Path, happens: signal.Signals
) -> None:
    began = tmp_path / "began"
    with connect_server(tmp_path / "server", Fernet.generate_key().decode()) as address:
        worker = process(
            f"""
            def sleep(batches):
                open({str(began)!r}, "w").close()
                time.sleep(600)
                yield from batches

            try:
                with RunSession() as run, translate():
                    frame_of_numbers(run.start(), 1).mapInArrow(sleep, "id long").collect()
            except Failure as error:
                say(error.code)
            say(answers())
            input()
            while not answers():
                time.sleep(1)
            say("answers again")
        """,
            address,
        )
        try:
            assert wait_until(began.exists, 120)
            java, hit = java_of(tmp_path / "server"), time.monotonic()
            os.kill(java, happens)
            assert hear(worker) == "spark.unreachable"
            assert time.monotonic() - hit < 60
            assert hear(worker) == "False"
            assert time.monotonic() - hit < 120
            if happens == signal.SIGSTOP:
                os.kill(java, signal.SIGCONT)
                go_on(worker)
                assert hear(worker) == "answers again"
        finally:
            worker.kill()
            worker.communicate()
