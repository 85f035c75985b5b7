"""The process from which Spark forks Python workers, with the protocol of Spark."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

Daemon = subprocess.Popen[bytes]
HASTY = "from executors.spark import daemon; daemon.IDLE_SECONDS = 1; daemon.main()"
"""One that waits for a second only."""
AT_THE_LAST_MOMENT = (
    "import os, signal; alarm = lambda: signal.raise_signal(signal.SIGALRM);"
    "os.register_at_fork(before=lambda: (alarm(), alarm())); "
)
"""Its time is up when it has let a client in, and has not forked yet."""


@pytest.fixture
def start() -> Iterator[Callable[..., Daemon]]:
    started: list[Daemon] = []

    def call(code: str, session: str = "5f0a") -> Daemon:
        daemon = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "SPARK_JOB_ARTIFACT_UUID": session},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        started.append(daemon)
        return daemon

    yield call
    for daemon in started:
        with daemon:
            daemon.kill()


def read_number(stream: object) -> int:
    return int(struct.unpack("!i", stream.read(4))[0])  # type: ignore[attr-defined]


@contextmanager
def worker_of(daemon: Daemon) -> Iterator[int]:
    """Yield the process ID of a worker, which runs while the block runs."""
    with socket.create_connection(("127.0.0.1", read_number(daemon.stdout))) as client, client.makefile("rb") as answer:
        yield read_number(answer)


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_it_ends_when_it_had_no_worker_for_a_while(start: Callable[..., Daemon]) -> None:
    daemon = start(HASTY)
    read_number(daemon.stdout)
    daemon.wait(10)


@pytest.mark.slow
def test_one_that_serves_every_session_stays(start: Callable[..., Daemon]) -> None:
    daemon = start(HASTY, session="default")
    read_number(daemon.stdout)
    with pytest.raises(subprocess.TimeoutExpired):
        daemon.wait(2)


@pytest.mark.slow
def test_it_stays_as_long_as_a_worker_lives(start: Callable[..., Daemon]) -> None:
    daemon = start(HASTY)
    with worker_of(daemon) as worker:
        time.sleep(2)
        assert (daemon.poll(), is_there(worker)) == (None, True)
    daemon.wait(10)


def test_a_client_that_was_let_in_at_the_last_moment_has_its_worker(start: Callable[..., Daemon]) -> None:
    daemon = start(AT_THE_LAST_MOMENT + HASTY)
    with worker_of(daemon) as worker:
        time.sleep(2)
        assert (daemon.poll(), is_there(worker)) == (None, True)
    daemon.wait(10)
