"""Runs a tap in a process of its own: without Flow's variables, with limits and a private folder."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO

from executors.errors import Failure, Terminal, Transient
from executors.processes.limited import LimitedProcess, Limits, Sandbox, describe_status, limited_process
from executors.processes.private_folder import private_folder
from executors.secrets import encrypt_text
from executors.singer.environments import Tap, TapFolder
from executors.singer.settings import TapSettings

MOST_LINE_BYTES = 64 << 20
"""The maximum size of a message."""
MEMORY_BYTES = 4 << 30
FILE_BYTES = 4 << 30
MOST_NOTES = 100
LONGEST_NOTE = 500
LONGEST_LINE = 1 << 20
"""The number of bytes of a log line that are searched for secrets. The rest of a longer line is left out."""
_LAST_LINES = 20
_ERRORS = ("ERROR", "CRITICAL", "FATAL")
_LEVEL = re.compile(r"\b(DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b")
_NOTED = ("WARN", "WARNING", "ERROR", "CRITICAL", "FATAL")
_PASSED = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


@dataclass(frozen=True, slots=True)
class TapCall:
    """A call of a tap: its settings, further files as JSON values by the option that names them, and options without a
    value. `readable` are folders that it may read. The first that exists is its working directory, so that
    relative paths in the settings lead there. `seconds` is its time limit."""

    settings: TapSettings
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    options: tuple[str, ...] = ()
    readable: tuple[Path, ...] = ()
    seconds: float = 3600


class TapProcess:
    """A running tap."""

    def __init__(self, tap: Tap, call: TapCall, process: LimitedProcess) -> None:
        self._tap, self._call, self._process = tap, call, process
        self.notes: list[str] = []
        """Warnings and errors among the lines that the tap has logged, without secrets."""
        self.unnoted = 0
        """The number of further ones."""
        self.errors = 0
        """The number of errors among all of them."""
        self._last: deque[str] = deque(maxlen=_LAST_LINES)
        self._logs = Thread(target=self._read_log, name=f"log of {tap.name}", daemon=True)
        self._logs.start()

    def lines(self) -> Generator[bytes]:
        """Yield the messages of the tap. Raises Failure `singer.…` if it does not end by itself with status 0."""
        output, number = self._process.output, 0
        while line := output.readline(MOST_LINE_BYTES + 1):
            number += 1
            if len(line) > MOST_LINE_BYTES:
                raise Terminal(
                    "singer.message_too_long",
                    f"Message {number:,} of the tap {self._tap.name} has more than {MOST_LINE_BYTES >> 20} MB.",
                    hint="Leave the large field out of the source's fields.",
                )
            yield line
        self._require_success()

    def end(self) -> None:
        """Kill the tap and all processes that it has started, from any thread."""
        self._process.kill()

    def close(self) -> None:
        """Kill the tap if it still runs, and wait for its end."""
        self._process.close()
        self._logs.join(5)

    def _require_success(self) -> None:
        status = self._process.wait()
        self._logs.join(5)
        if self._process.is_timed_out:
            raise Terminal(
                "singer.timeout",
                f"The tap {self._tap.name} did not end within {self._call.seconds:.0f} s and was stopped.",
                hint="Raise maxMinutes in errorHandling, or let the tap read less at once.",
            )
        if self._process.is_killed:
            raise Transient("singer.interrupted", f"The tap {self._tap.name} was stopped.")
        if status:
            raise self._failed(status)

    def _failed(self, status: int) -> Failure:
        how = describe_status(status)
        if status == -signal.SIGXCPU:
            how += " after its limit of CPU time"
        failure = Transient(
            "singer.tap_failed",
            f"The tap {self._tap.name} ended {how}.",
            hint="Check its settings. The last lines of a tap in a run are in the details of the run, for those who "
            "may see values.",
        )
        if self._last:
            failure.encrypted_detail = encrypt_text("\n".join(self._last))
        return failure

    def _read_log(self) -> None:
        for line in _whole_lines(self._process.log):
            # Secrets are masked before the line is cut: a part of one would not be found.
            text = self._call.settings.masked(line.decode(errors="replace").rstrip())[:LONGEST_NOTE]
            text = "".join(sign if sign.isprintable() else " " for sign in text)
            if not text.strip():
                continue
            self._last.append(text)
            level = _level_of(text)
            if level not in _NOTED:
                continue
            self.errors += level in _ERRORS
            if len(self.notes) < MOST_NOTES:
                self.notes.append(text)
            else:
                self.unnoted += 1


def _whole_lines(log: IO[bytes]) -> Iterator[bytes]:
    """Yield each line, of a very long one its beginning."""
    is_rest = False
    while part := log.readline(LONGEST_LINE):
        if not is_rest:
            yield part
        is_rest = not part.endswith(b"\n")


def _level_of(line: str) -> str:
    """Return the first level that a line names, such as `ERROR`; empty if it names none."""
    found = _LEVEL.search(line[:120])
    return found[0] if found else ""


@contextmanager
def running(folder: TapFolder, tap: Tap, call: TapCall) -> Iterator[TapProcess]:
    """Start a tap; it is killed at the end of the block. Its settings and files are in a private folder, which is
    deleted. Raises Failure."""
    with private_folder(folder.root) as private:
        command = [str(folder.build(tap) / "bin" / tap.executable), *_arguments(private, call)]
        with limited_process(
            command,
            Limits(call.seconds, MEMORY_BYTES, FILE_BYTES),
            folder=next(filter(Path.is_dir, call.readable), private),
            variables=_environment(folder.build(tap), private),
            sandbox=_sandbox(folder.build(tap), call, private) if tap.sandbox else None,
        ) as started:
            process = TapProcess(tap, call, started)
            try:
                yield process
            finally:
                process.close()


def _arguments(private: Path, call: TapCall) -> Iterator[str]:
    files = {"config": json.dumps(dict(call.settings.values)), **call.files}
    for option, content in files.items():
        path = private / f"{option}.json"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(content)
        yield from (f"--{option}", str(path))
    yield from call.options


def _sandbox(build: Path, call: TapCall, private: Path) -> Sandbox:
    readable = (build, Path(sys.base_prefix), *call.readable)
    return Sandbox([*map(str, readable), *_certificates()], [str(private)])


def _environment(build: Path, private: Path) -> dict[str, str]:
    """Return the variables of a tap: none of Flow's, and of the others only those that lead to the network."""
    passed = {name: value for name, value in os.environ.items() if name.upper() in _PASSED}
    return passed | {
        "PATH": f"{build / 'bin'}:/usr/bin:/bin",
        "HOME": str(private),
        "TMPDIR": str(private),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONUNBUFFERED": "1",
        # Some taps list columns in the order of a set.
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _certificates() -> list[str]:
    names = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
    return [os.environ[name] for name in names if os.environ.get(name)]
