"""Starts a program in a process of its own: with limits, without this process's variables, killed when it takes too
long or when this process ends."""

from __future__ import annotations

import fcntl
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import TIMEOUT_MAX, Lock, Timer
from typing import IO, Any

from executors.processes import launch

_OPEN_FILES = 1024
_OUTPUT_BYTES = 1 << 20
"""How much a process can write before its reader takes it, where the system permits that. With the usual 64 kB, the two
wait for each other several times for each batch of rows."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a process: `seconds` of time and of CPU time; sizes of its memory and of each of its files."""

    seconds: float
    memory_bytes: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The files that a process can access, besides those of the system that every program needs."""

    readable: Sequence[str]
    writable: Sequence[str]


class LimitedProcess:
    """A running process, and all processes that it starts."""

    def __init__(self, popen: subprocess.Popen[bytes], seconds: float) -> None:
        self._popen = popen
        self.is_timed_out = self.is_killed = False
        """Whether it was killed after its time limit; whether it was killed at all."""
        self._is_closed, self._lock = False, Lock()
        self._timer = Timer(min(seconds, TIMEOUT_MAX), self._time_out)
        self._timer.daemon = True
        self._timer.start()

    @property
    def input(self) -> IO[bytes]:
        return _pipe(self._popen.stdin)

    @property
    def output(self) -> IO[bytes]:
        return _pipe(self._popen.stdout)

    @property
    def log(self) -> IO[bytes]:
        return _pipe(self._popen.stderr)

    def kill(self) -> None:
        """Kill the processes, from any thread."""
        with self._lock:
            # Once the process has been waited for, its number may belong to another one.
            if not self._is_closed:
                self.is_killed = True
                with suppress(ProcessLookupError):
                    os.killpg(self._popen.pid, signal.SIGKILL)

    def wait(self, seconds: float | None = None) -> int:
        """Wait for the end of the process, and return its status: minus the number of the signal that ended it. It is
        killed if it runs for so many more seconds."""
        with suppress(subprocess.TimeoutExpired):
            return self._popen.wait(seconds)
        self.kill()
        return self._popen.wait()

    def close(self) -> None:
        """Kill what still runs, and wait for its end."""
        self._timer.cancel()
        self.kill()
        with self._lock:
            self._is_closed = True
        self._popen.wait()
        if self._popen.stdin is not None:
            with suppress(BrokenPipeError):  # of what it has not read
                self._popen.stdin.close()

    def _time_out(self) -> None:
        self.is_timed_out = True
        self.kill()


def describe_status(status: int) -> str:
    """Return how a process ended, such as `with signal SIGSEGV`."""
    return f"with signal {signal.Signals(-status).name}" if status < 0 else f"with status {status}"


@contextmanager
def limited_process(
    command: Sequence[str],
    limits: Limits,
    *,
    folder: Path,
    variables: Mapping[str, str],
    sandbox: Sandbox | None = None,
    input: int = subprocess.DEVNULL,
    log: int | IO[bytes] = subprocess.PIPE,
) -> Iterator[LimitedProcess]:
    """Start a program in `folder`, with these variables and no others; it is killed at the end of the block. The kernel
    also kills it when the thread that calls this ends."""
    with subprocess.Popen(
        [sys.executable, "-I", launch.__file__, _launch(limits, sandbox), *command],
        stdin=input,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=folder,
        env=dict(variables),
        start_new_session=True,
    ) as popen:
        process = LimitedProcess(popen, limits.seconds)
        _enlarge(process.output)
        try:
            yield process
        finally:
            process.close()


def _enlarge(output: IO[bytes]) -> None:
    # Only Linux can, and a user may have too many large pipes already.
    with suppress(AttributeError, OSError):
        fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, _OUTPUT_BYTES)


def _launch(limits: Limits, sandbox: Sandbox | None) -> str:
    given: dict[str, Any] = {
        "limits": {
            "RLIMIT_AS": limits.memory_bytes,
            # The watchdog ends a process by the clock; this is for a process whose watchdog does not.
            "RLIMIT_CPU": math.ceil(limits.seconds) * (os.cpu_count() or 1) + 1,
            "RLIMIT_FSIZE": limits.file_bytes,
            "RLIMIT_NOFILE": _OPEN_FILES,
            "RLIMIT_CORE": 0,
        },
        "sandbox": sandbox is not None,
        "readable": list(sandbox.readable) if sandbox else [],
        "writable": list(sandbox.writable) if sandbox else [],
        "parent": os.getpid(),
    }
    return json.dumps(given)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("the process was started without this pipe")
    return pipe
