"""Opens an attempt: its Spark session and its sources."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from executors.formats.files import FileStore
from executors.formats.small_files import is_small
from executors.model import FileScan, RunJob, SourceFile
from executors.ports import Ports
from executors.report import RunReport
from executors.runs.interrupts import Interrupts
from executors.runs.looking import without_effects
from executors.runs.state import Run, RunContext
from executors.sources.file_discovery import Scanner
from executors.sources.file_reader import FileSourceReader
from executors.sources.readers import SourceReader, SourceReaders
from executors.sources.reference_reader import ReferenceReader
from executors.sources.snapshot_reader import SnapshotSourceReader
from executors.sources.spooled import make_spool
from ir.nodes import Source

if TYPE_CHECKING:
    from executors.spark.session import RunSession


def open_run(job: RunJob, ports: Ports, stack: ExitStack) -> Run:
    """Open an attempt that claims and loads files."""
    return _open(job, ports, stack, read_only=False)


def open_read_only(job: RunJob, ports: Ports, stack: ExitStack) -> Run:
    """Open an attempt that reads the same data but does not change files and their states."""
    return _open(job, without_effects(ports), stack, read_only=True)


def _open(job: RunJob, ports: Ports, stack: ExitStack, *, read_only: bool) -> Run:
    session = open_session(job, stack)
    files = FileSourceReader(job, ports, scanner(job, session, stack), read_only=read_only)
    snapshots = SnapshotSourceReader(job, ports, stack, read_only=read_only)
    return run_of(job, ports, stack, session, SourceReaders(files, snapshots), read_only=read_only)


def open_session(job: RunJob, stack: ExitStack) -> RunSession:
    """Open a Spark session for this attempt. Spark is imported here, because the web process imports this module
    too."""
    from executors.spark.session import RunSession

    return stack.enter_context(RunSession(modules=job.modules))


def scanner(job: RunJob, session: RunSession, stack: ExitStack) -> Scanner:
    """Return the function that scans files. Copies of small files of stores are deleted when `stack` is closed."""
    from executors.spark.scan import scan_files

    def scan(source: Source, files: Sequence[SourceFile], store: FileStore) -> list[FileScan]:
        copies = None
        if store.waits and any(map(is_small, files)):
            with suppress(OSError):  # copies only save requests
                copies = str(make_spool(job.files_folder, job.run_id, stack))
        return scan_files(session, source, files, store, copies)

    return scan


def run_of(
    job: RunJob,
    ports: Ports,
    stack: ExitStack,
    session: RunSession,
    reader: SourceReader,
    *,
    read_only: bool = False,
) -> Run:
    references = ReferenceReader(job, ports, scanner(job, session, stack), stack, read_only=read_only)
    interrupts = Interrupts()
    for interrupt in (session.interrupt, reader.interrupt, references.interrupt):
        interrupts.add(interrupt)
    return Run(RunContext(job, ports, RunReport(), session, reader, references, interrupts, stack))
