"""Run several programs together: prefix and log their output, restart those that end, and stop all of them.

One thread and one loop, because programs end with the thread that starts them."""

from __future__ import annotations

import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path

from flowapp.embedded.processes import die_with_parent

_TICK = 0.2
_GRACE = 6.0
_LONGEST_DELAY = 30.0
_LONG_ENOUGH = 60.0
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Program:
    """A command that the supervisor runs, with the file descriptors that it inherits."""

    name: str
    command: Sequence[str]
    descriptors: Sequence[int] = ()


class Terminal:
    """Prints the lines of all programs until standard output is closed."""

    def __init__(self, names: Sequence[str]) -> None:
        self._width = max(map(len, names))
        self._colours = dict(zip(names, (36, 33, 35, 32, 34, 31), strict=False)) if sys.stdout.isatty() else {}
        self._open = True

    def show(self, name: str, line: str) -> None:
        prefix = f"{name:<{self._width}} |"
        if name in self._colours:
            prefix = f"\033[{self._colours[name]}m{prefix}\033[0m"
        self.say(f"{prefix} {line}")

    def say(self, line: str) -> None:
        if self._open:
            try:
                print(line, flush=True)
            except (OSError, ValueError):
                self._open = False


class Runner:
    """One program: its process, its output, and the time of its next start."""

    def __init__(self, program: Program, log: Path, terminal: Terminal) -> None:
        self.program, self._terminal = program, terminal
        self._log = RotatingFileHandler(log, maxBytes=5_000_000, backupCount=3, encoding="utf-8", delay=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._failures = 0
        self._started = self._due = time.monotonic()

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def start_if_due(self, selector: selectors.BaseSelector) -> None:
        if self._process is None and time.monotonic() >= self._due:
            self._start(selector)

    def reap(self) -> int | None:
        """Return the exit status once after the process has ended, else None. Kills the processes left in its group."""
        if self._process is None or self._process.poll() is None:
            return None
        self.signal_group(signal.SIGKILL)
        status, self._process = self._process.returncode, None
        self._plan_restart()
        return status

    @property
    def delay(self) -> float:
        """Seconds until the next start."""
        return max(0.0, self._due - time.monotonic())

    def ask_to_stop(self) -> None:
        """Signal only the program: it ends its own children in order."""
        if self._process:
            self._process.terminate()

    def signal_group(self, number: signal.Signals) -> None:
        """Signal the program and its children, including Java."""
        if self._process:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def read(self, stream: int) -> bool:
        """Forward output of the program. Return whether there may be more."""
        chunk = os.read(stream, 65536)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if self._rest and (not chunk or len(self._rest) > 65536):
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            self._pass_on(line.decode(errors="replace").rstrip("\r"))
        return bool(chunk)

    def close(self) -> None:
        self._log.close()

    def _start(self, selector: selectors.BaseSelector) -> None:
        self._process = subprocess.Popen(
            self.program.command,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=self.program.descriptors,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGKILL),
        )
        self._started = time.monotonic()
        assert self._process.stdout is not None  # noqa: S101
        selector.register(self._process.stdout, selectors.EVENT_READ, self)

    def _plan_restart(self) -> None:
        lived = time.monotonic() - self._started
        self._failures = 0 if lived > _LONG_ENOUGH else self._failures + 1
        self._due = time.monotonic() + min(_LONGEST_DELAY, 2.0 ** max(0, self._failures - 1))

    def _pass_on(self, line: str) -> None:
        self._log.emit(logging.makeLogRecord({"msg": line}))
        self._terminal.show(self.program.name, line)


class Supervisor:
    """Runs programs until a signal stops it; a second signal kills the programs."""

    def __init__(self, programs: Sequence[Program], logs: Path) -> None:
        self._terminal = Terminal([p.name for p in programs])
        self._runners = [Runner(p, logs / f"{p.name}.log", self._terminal) for p in programs]
        self._selector = selectors.DefaultSelector()
        self._signals = 0

    def run(self, when_ready: Callable[[], bool]) -> bool:
        """Run until a signal. Return whether all programs ended without being killed.

        `when_ready` is called repeatedly until it returns True."""
        with self._counted_signals():
            try:
                self._keep_running(when_ready)
                return self._stop()
            finally:
                self._kill_all()

    def say(self, line: str) -> None:
        self._terminal.say(line)

    def _keep_running(self, when_ready: Callable[[], bool]) -> None:
        ready = False
        while not self._signals:
            for runner in self._runners:
                status = runner.reap()
                if status is not None:
                    self.say(f"{runner.program.name} ended ({_describe(status)}); again in {runner.delay:.0f} s")
                runner.start_if_due(self._selector)
            self._pass_output_on()
            ready = ready or when_ready()

    def _stop(self) -> bool:
        self.say("Stopping; Ctrl-C again to stop at once.")
        for runner in self._runners:
            runner.ask_to_stop()
        end = time.monotonic() + _GRACE
        while any(r.is_running for r in self._runners) and self._signals < 2 and time.monotonic() < end:
            self._pass_output_on()
            for runner in self._runners:
                runner.reap()
        return not any(r.is_running for r in self._runners)

    def _kill_all(self) -> None:
        for runner in self._runners:
            runner.signal_group(signal.SIGKILL)
        while any(r.is_running for r in self._runners):
            self._pass_output_on()
            for runner in self._runners:
                runner.reap()
        for runner in self._runners:
            runner.close()
        for key in list(self._selector.get_map().values()):
            self._forget(key)
        self._selector.close()

    def _pass_output_on(self) -> None:
        for key, _ in self._selector.select(_TICK):
            if not key.data.read(key.fd):
                self._forget(key)

    def _forget(self, key: selectors.SelectorKey) -> None:
        self._selector.unregister(key.fileobj)
        key.fileobj.close()  # type: ignore[union-attr]  # the end of a pipe, registered as a file

    @contextmanager
    def _counted_signals(self) -> Iterator[None]:
        def count(number: int, frame: object) -> None:
            self._signals += 1

        before = {number: signal.signal(number, count) for number in _STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _describe(status: int) -> str:
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
