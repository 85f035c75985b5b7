"""The base of sources whose rows the driver fetches before Spark reads them.

The rows are JSON lines in files of the workspace's folder, which Spark's machines share. Only the run reads them, and
they are deleted at its end.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from executors.errors import Terminal, Transient
from executors.formats import jsonl
from executors.formats.files import LOCAL_FILES
from executors.formats.unions import union_of_fields
from executors.model import SourceField, SourceFile, SourceState
from executors.reading import FileReader, Origin, Reading
from executors.sources.base import SnapshotSource, SourceContext
from ir.formats import Jsonl
from ir.nodes import Source
from ir.types import ColumnType

SPOOL = ".spool"
"""The folder of the workspace that contains the fetched rows of runs."""
LEFTOVER_SECONDS = 24 * 3600
"""How long fetched rows of an unknown run stay: it may be of another installation that shares the folder."""
_FORMAT = Jsonl(type="jsonl")


@dataclass(frozen=True, slots=True)
class Fetched:
    """The result of fetching: the state of the source afterwards, and the columns of the records. Without `fields`, the
    columns are the keys of the records."""

    state: str | None = None
    fields: tuple[SourceField, ...] | None = None


class Spool:
    """Takes the records of one fetch. `most` limits their number, None means all."""

    def __init__(self, path: Path, most: int | None, node: str) -> None:
        self.path, self.rows = path, 0
        self._most, self._node = most, node
        try:
            self._file = path.open("x", encoding="utf-8", newline="\n")
        except OSError as error:
            raise self._full(error) from None

    @property
    def is_full(self) -> bool:
        """Whether no more records are wanted."""
        return self._most is not None and self.rows >= self._most

    def write(self, record: str) -> None:
        """Write a record: the text of a JSON value in one line."""
        if self.is_full:
            return
        try:
            self._file.write(record)
            self._file.write("\n")
        except OSError as error:
            raise self._full(error) from None
        self.rows += 1

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise self._full(error) from None

    def _full(self, error: OSError) -> Terminal:
        what = "is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "cannot be written"
        return Terminal(
            "source.spool_failed",
            f"The disk of the files {what} after {self.rows:,} fetched rows: {error.strerror}.",
            node=self._node,
            hint="Free space in FLOW_FILES_ROOT. Nothing was loaded.",
        )


def open_spool(context: SourceContext, node: str, stack: ExitStack) -> Path:
    """Return a new folder for the fetched rows of a source, which is deleted when `stack` is closed. Raises Terminal
    `source.spool_failed`."""
    try:
        return make_spool(context.folder, context.claimant.run_id, stack)
    except OSError as error:
        raise Terminal(
            "source.spool_failed",
            f"The folder {SPOOL} for fetched rows cannot be used: {error.strerror}.",
            node=node,
            hint="Give the worker's user write permission in FLOW_FILES_ROOT.",
        ) from None


def make_spool(files: Path, run_id: str, stack: ExitStack) -> Path:
    """Return a new folder of a run in the folder of its workspace, which is deleted when `stack` is closed. Raises
    OSError."""
    root = files / SPOOL
    root.mkdir(parents=True, exist_ok=True)
    if root.is_symlink():
        raise OSError(errno.ELOOP, "it is a symbolic link")
    folder = Path(tempfile.mkdtemp(prefix=f"{run_id}.", dir=root))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return folder


class SpooledSource(SnapshotSource):
    """One source node. The rows since a state are fetched once for all targets with that state."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        self._declared = tuple(source.columns or ())
        self._stopped = Event()
        self._readings: dict[SourceState | None, Reading] = {}

    @property
    def is_shared(self) -> bool:
        return True

    @abstractmethod
    def fetch(self, state: str | None, spool: Spool) -> Fetched:
        """Write the records that the source has got since a state, all if it is None. Raises Failure `source.…`."""

    def open(self, stack: ExitStack) -> None:
        self._folder = open_spool(self.context, self.node, stack)

    def reading(self, *, is_last: bool = False, state: SourceState | None = None) -> Reading:
        if state not in self._readings:
            self._readings[state] = self._read(state)
        return self._readings[state]

    def interrupt(self) -> None:
        self._stopped.set()

    def check_stopped(self) -> None:
        """Raise if the run was cancelled or has exceeded its time."""
        if self._stopped.is_set():
            raise Transient("source.interrupted", f"Reading {self.name} was interrupted.", node=self.node)

    def wait(self, seconds: float) -> None:
        """Wait, unless the run ends. Raises as `check_stopped`."""
        self._stopped.wait(seconds)
        self.check_stopped()

    def _read(self, state: SourceState | None) -> Reading:
        path, limit = self._folder / f"{len(self._readings)}.jsonl", self.context.limit
        spool = Spool(path, (limit.random_of or limit.rows) if limit else None, self.node)
        try:
            fetched = self.fetch(state.value if state is not None else None, spool)
        finally:
            spool.close()
        if limit is not None and limit.random_of and spool.rows > limit.rows:
            _pick_lines(path, sorted(random.sample(range(spool.rows), limit.rows)))
        return self._reading_of(path, fetched, state)

    def _reading_of(self, path: Path, fetched: Fetched, before: SourceState | None) -> Reading:
        file = SourceFile.found(0, str(path), self.name, os.stat(path))
        # All records may lack a column that earlier records have.
        is_complete = before is None and fetched.fields is None
        scan = jsonl.scan(file, _FORMAT, self._declared if is_complete else ())
        fields = fetched.fields or _with_earlier(union_of_fields([scan], self._declared), before)
        identity = hashlib.sha256(f"{self.context.claimant.run_id}\n{self.node}\n{scan.sha256}".encode()).hexdigest()
        after = self._state_after(fetched, fields)
        return Reading(
            fields=fields,
            origins=(Origin(0, self.name, identity, is_unit=False, state=after, source=self.node),),
            parts=scan.splits,
            reader=FileReader(_FORMAT, self._declared, LOCAL_FILES),
            records=scan.records,
            is_blank=not scan.records and fetched.fields is None and before is None,
            size=file.size,
            is_empty=lambda: not scan.records,
        )

    def _state_after(self, fetched: Fetched, fields: Sequence[SourceField]) -> SourceState | None:
        if fetched.state is None:
            return None
        columns = tuple((field.name, str(field.type)) for field in fields)
        return SourceState(self.state_settings, fetched.state, columns)


def _with_earlier(fields: tuple[SourceField, ...], before: SourceState | None) -> tuple[SourceField, ...]:
    """Return the columns of records with those that only earlier records had."""
    found = {field.name for field in fields}
    earlier = before.columns if before is not None else ()
    known = (SourceField(name, ColumnType.parse(kind)) for name, kind in earlier if name not in found)
    return (*fields, *known)


def _pick_lines(path: Path, numbers: Sequence[int]) -> None:
    """Leave only the lines with these numbers, which begin at 0, in a file of a preview."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        wanted = set(numbers)
        picked = [line for number, line in enumerate(lines) if number in wanted]
    path.write_text("".join(picked), encoding="utf-8", newline="\n")


def sweep_spools(files_root: Path, is_active: Callable[[str], bool]) -> list[str]:
    """Delete what runs have left in the spools of all workspaces; return the names. `is_active` returns whether a run
    with this ID may still read its rows."""
    swept = []
    for folder in files_root.glob(f"*/{SPOOL}/*"):
        run_id = folder.name.partition(".")[0]
        if _is_leftover(folder) and not is_active(run_id):
            shutil.rmtree(folder, ignore_errors=True)
            swept.append(folder.name)
    return swept


def _is_leftover(folder: Path) -> bool:
    """Return whether a folder is old. What a symbolic link names is not Flow's."""
    try:
        return not folder.parent.is_symlink() and time.time() - folder.lstat().st_mtime > LEFTOVER_SECONDS
    except FileNotFoundError:  # a run has ended meanwhile
        return False
