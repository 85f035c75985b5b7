"""Reads a database file through its engine, which runs the queries of users in a process with limits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from executors.database_files.base import Column, Rows
from executors.database_files.engine import main as engine_main
from executors.database_files.engine.base import EngineLimits
from executors.database_files.systems import FILE_DATABASES
from executors.errors import Failure, InvalidContent, Terminal, Transient
from executors.formats.batches import BadRecords
from executors.formats.files import BLOCK_BYTES
from executors.formats.limits import MOST_ROW_BYTES
from executors.model import SourceField
from executors.processes import launch
from executors.processes.limited import LimitedProcess, Limits, describe_status, limited_process
from executors.processes.private_folder import own_temporary_folder, private_folder
from ir.file_queries import Grammar
from ir.types import ColumnType

MEMORY_BYTES = 2 << 30
DISK_BYTES = 20 << 30
LIMITS = EngineLimits(row=MOST_ROW_BYTES, batch=BLOCK_BYTES, memory=MEMORY_BYTES, disk=DISK_BYTES)
_FAILURES: Mapping[str, type[Failure]] = {"transient": Transient, "terminal": Terminal, "content": InvalidContent}
_OUT_OF_MEMORY = (b"bad_alloc", b"MemoryError", b"out of memory", b"Cannot allocate memory")
_LOG_BYTES = 4096
_END_SECONDS = 5


@dataclass(frozen=True, slots=True)
class EngineCall:
    """A file for an engine, and the number of seconds that all statements together may take."""

    grammar: Grammar
    path: Path
    seconds: float


class EngineSession:
    """An open file, used by one thread. Every method raises Failure `source.…`, without a value of a row."""

    def __init__(self, call: EngineCall, process: LimitedProcess, log: Path) -> None:
        self._call, self._process, self._log = call, process, log
        self._title = FILE_DATABASES[call.grammar].title
        self._is_interrupted = False

    def wait_until_open(self) -> None:
        self._answer()

    def columns(self, statement: str) -> tuple[Column, ...]:
        """Return the columns of a SELECT."""
        self._send({"statement": statement})
        return tuple(map(_column, self._answer()["columns"]))

    def rows(self, statement: str, columns: Sequence[Column]) -> Iterator[Rows]:
        """Yield the rows of a statement that selects these columns."""
        wanted = [{"name": column.field.name, "type": str(column.field.type)} for column in columns]
        self._send({"statement": statement, "columns": wanted})
        count, ends = 0, None
        for batch, marks in self._batches():
            ends = marks
            if marks is None:
                count += batch.num_rows
                yield _rows(batch)
        if ends is None:
            raise self._ended()
        if failure := ends.get(engine_main.FAILURE):
            raise _failure(json.loads(failure))
        if int(ends[engine_main.END]) != count:
            raise self._ended()

    def interrupt(self) -> None:
        """End the running statement and the session, from another thread."""
        self._is_interrupted = True
        self._process.kill()

    def _batches(self) -> Iterator[tuple[pa.RecordBatch, Mapping[bytes, bytes] | None]]:
        """Yield the batches of an answer. The last one, which is empty, has marks."""
        try:
            with pa.ipc.open_stream(self._process.output) as stream:
                while True:
                    try:
                        batch, marks = stream.read_next_batch_with_custom_metadata()
                    except StopIteration:
                        return
                    yield batch, marks
        except (OSError, pa.ArrowInvalid):
            raise self._ended() from None

    def _send(self, request: Mapping[str, Any]) -> None:
        try:
            self._process.input.write(json.dumps(request).encode() + b"\n")
            self._process.input.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _answer(self) -> Any:
        line = self._process.output.readline()
        if not line.endswith(b"\n"):
            raise self._ended()
        answer = json.loads(line)
        if "failure" in answer:
            raise _failure(answer["failure"])
        return answer

    def _ended(self) -> Failure:
        """Return the failure of a process that has ended, or that ends because its answer is incomplete."""
        process, name = self._process, self._call.path.name
        status = process.wait(_END_SECONDS)
        if self._is_interrupted:
            return Transient("source.cancelled", f"Reading {name} was cancelled.", hint="Run it again.")
        if process.is_timed_out or status == -signal.SIGXCPU:
            return Terminal(
                "source.query_time_limit",
                f"Reading {name} took longer than its limit of {self._call.seconds:,.0f} s.",
                hint="Read fewer rows or compute less in the query. For runs, errorHandling.maxMinutes is the limit.",
            )
        log = self._last_log()
        if any(text in log for text in _OUT_OF_MEMORY):
            return _failure(engine_main.described(MemoryError(), name, LIMITS))
        why = f": {log.decode(errors='replace').strip().splitlines()[-1]}" if status == launch.FAILED and log else ""
        failure = Transient if status == -signal.SIGKILL else Terminal  # the kernel kills when memory is short
        return failure(
            "source.engine_failed",
            f"{self._title} ended {describe_status(status)} while it read {name}{why}.",
            hint=f"Check the file and the query with {self._title} itself. If the worker's machine is out of memory, "
            "give it more.",
        )

    def _last_log(self) -> bytes:
        with self._log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES))
            return file.read()


@contextmanager
def open_file(call: EngineCall) -> Iterator[EngineSession]:
    """Open a file for reading only, in a new process. Raises Failure `source.…`."""
    given = {"engine": call.grammar, "path": str(call.path), "limits": asdict(LIMITS)}
    with private_folder(own_temporary_folder("flow-engines")) as private:
        log, temporary = private / "engine.log", private / "temporary"
        temporary.mkdir(mode=0o700)
        with (
            log.open("wb") as written,
            limited_process(
                [sys.executable, "-P", "-s", "-m", engine_main.__name__, json.dumps(given)],
                Limits(call.seconds, MEMORY_BYTES, DISK_BYTES),
                folder=private,
                variables=_variables(temporary),
                input=subprocess.PIPE,
                log=written,
            ) as process,
        ):
            session = EngineSession(call, process, log)
            session.wait_until_open()
            yield session


def _variables(temporary: Path) -> dict[str, str]:
    """Return the variables of an engine: none of Flow's."""
    return {
        "PATH": "/usr/bin:/bin",
        # DuckDB lets queries read its temporary files, so nothing else is there.
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        # Pools reserve addresses, which the limit of memory counts.
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _column(found: Mapping[str, str]) -> Column:
    kind = ColumnType.parse(found["type"])
    field = SourceField(found["name"], kind, as_text=kind.kind not in ("string", "json"))
    return Column(field, found["expression"])


def _rows(batch: pa.RecordBatch) -> Rows:
    *arrays, reasons, raw = batch.columns
    bad = BadRecords()
    if reasons.null_count < len(reasons):
        for at, reason in enumerate(reasons.to_pylist()):
            if reason is not None:
                bad.add(at, reason, raw[at].as_py())
    return Rows(batch.num_rows, arrays, bad)


def _failure(found: Mapping[str, str]) -> Failure:
    return _FAILURES[found["kind"]](found["code"], found["message"], hint=found["hint"])
