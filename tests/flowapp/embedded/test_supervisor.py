"""The supervisor, run in a process of its own over small programs."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flowapp.embedded.processes import is_running, wait_until
from flowapp.embedded.supervisor import Program, Supervisor

TALKER = "import os, time; print('pid', os.getpid(), flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {TALKER}"
PARENT = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {STUBBORN!r}]); import time; time.sleep(60)"
SHORT = "print('done', flush=True)"

Start = Callable[..., subprocess.Popen[str]]


def supervise(logs: str, *sources: str) -> None:
    """The program of the child process."""
    programs = [Program(f"p{n}", (sys.executable, "-c", source)) for n, source in enumerate(sources)]
    clean = Supervisor(programs, Path(logs)).run(lambda: True)
    print("ended", "clean" if clean else "killed", flush=True)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[subprocess.Popen[str]] = []

    def run(*sources: str) -> subprocess.Popen[str]:
        command = [sys.executable, __file__, str(tmp_path), *sources]
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.communicate()


def read_pid(process: subprocess.Popen[str]) -> int:
    """The id that a talker said next."""
    assert process.stdout is not None
    return int(next(line for line in process.stdout if "pid" in line).rsplit(" ", 1)[1])


def test_output_is_prefixed_and_logged(start: Start, tmp_path: Path) -> None:
    process = start(TALKER)
    pid = read_pid(process)
    assert wait_until(lambda: f"pid {pid}\n" == (tmp_path / "p0.log").read_text(), 5)


def test_a_program_that_ends_is_started_again(start: Start) -> None:
    process = start(SHORT)
    assert process.stdout is not None
    output = [line for line, _ in zip(process.stdout, range(3), strict=False)]
    assert output == ["p0 | done\n", "p0 ended (status 0); again in 1 s\n", "p0 | done\n"]


def test_it_waits_longer_each_time(start: Start) -> None:
    process = start("raise SystemExit(3)")
    assert process.stdout is not None
    ends = [line for line, _ in zip(process.stdout, range(2), strict=False)]
    assert ends == ["p0 ended (status 3); again in 1 s\n", "p0 ended (status 3); again in 2 s\n"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_all(start: Start, number: signal.Signals) -> None:
    process = start(TALKER, TALKER)
    pids = [read_pid(process), read_pid(process)]
    process.send_signal(number)
    assert "ended clean" in process.communicate(timeout=10)[0]
    assert process.returncode == 0
    assert not any(map(is_running, pids))


def test_a_second_signal_kills_what_does_not_stop(start: Start) -> None:
    process = start(STUBBORN)
    pid = read_pid(process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert "ended killed" in process.communicate(timeout=3)[0]
    assert not is_running(pid)


def test_children_of_a_program_are_stopped_too(start: Start) -> None:
    process = start(PARENT)
    pid = read_pid(process)
    process.terminate()
    process.communicate(timeout=10)
    assert wait_until(lambda: not is_running(pid), 2)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent's life")
def test_programs_end_when_the_supervisor_is_killed(start: Start) -> None:
    process = start(TALKER)
    pid = read_pid(process)
    process.kill()
    assert wait_until(lambda: not is_running(pid), 5)


if __name__ == "__main__":
    supervise(*sys.argv[1:])
