"""Reads a part of a source for a preview. The size is limited whatever the size of the source."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from executors.formats import FORMATS
from executors.formats.files import FileStore
from executors.model import FileScan, SourceFile
from executors.node_preview.model import NodePreviewJob, SampleKind
from executors.node_preview.picking import pick_first, pick_random
from executors.ports import Cancellation
from executors.reading import Reading, read_files
from executors.runs.interrupts import Interrupts
from executors.sources import load_file_source, load_snapshot_source
from executors.sources.base import Claimant, RowLimit, SourceContext
from executors.sources.file_findings import describe_others
from executors.sources.newest import find_newest
from executors.sources.reference_reader import refuse_empty
from ir.connectors import CONNECTORS, config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source
from ir.pipeline import Path
from ir.words import counted

MOST_ROWS = 1_000
"""The number of first rows, and of random rows."""
MOST_SEARCHED = 100_000
"""The number of rows that are searched for failing ones, and from which random ones are selected."""
MOST_BYTES = {"first": 4 << 20, "random": 16 << 20, "failing": 16 << 20}
"""The number of bytes of files that are scanned, by kind of sample."""
MOST_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a source. `extent` describes the part, `unread` the files in its archives that are not read, and
    `references` the part of each reference that was read."""

    reading: Reading
    extent: str
    references: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def read_excerpt(
    job: NodePreviewJob, source: Source, stack: ExitStack, interrupts: Interrupts, cancellation: Cancellation
) -> Excerpt:
    """Read the part of a source for the sample of the job. Raises Failure `source.…`, and the errors of `cancellation`.
    The stack closes what this function opens."""
    if CONNECTORS[source.connector].reads == "snapshot":
        return _read_snapshot(job, source, stack, interrupts)
    return _read_files(job, source, cancellation)


def read_references(
    job: NodePreviewJob, path: Path, stack: ExitStack, interrupts: Interrupts, cancellation: Cancellation
) -> dict[str, Excerpt]:
    """Read the references of a path, and return them by source ID. Raises the errors of `read_excerpt`."""
    wide = replace(job, sample="failing")
    sources = {reference.source.id: reference.source for reference in path.references.values()}
    found = {name: read_excerpt(wide, source, stack, interrupts, cancellation) for name, source in sources.items()}
    for name, excerpt in found.items():
        refuse_empty(sources[name], excerpt.reading)
    return found


def _context(job: NodePreviewJob, source: Source, limit: RowLimit | None = None) -> SourceContext:
    return SourceContext(
        folder=job.files_folder,
        claimant=Claimant.of(job.pipeline, job.tenant, job.id),
        connection=job.connections.get(source.connection or ""),
        store=job.stores.get(source.connection or ""),
        taps=job.taps,
        most_seconds=MOST_SECONDS,
        read_only=True,
        limit=limit,
    )


# --- databases ----------------------------------------------------------------------------------------------------

_LIMITS: dict[SampleKind, RowLimit] = {
    "first": RowLimit(MOST_ROWS),
    "random": RowLimit(MOST_ROWS, random_of=MOST_SEARCHED),
    "failing": RowLimit(MOST_SEARCHED),
}


def _read_snapshot(job: NodePreviewJob, source: Source, stack: ExitStack, interrupts: Interrupts) -> Excerpt:
    limit = _LIMITS[job.sample]
    handler = load_snapshot_source(source, _context(job, source, limit))
    interrupts.add(handler.interrupt)
    handler.open(stack)
    rows = (
        f"{limit.rows:,} random rows of the first {limit.random_of:,}"
        if limit.random_of
        else f"The first {limit.rows:,}"
    )
    return Excerpt(handler.reading(is_last=True), f"{rows} rows of {handler.name}, or all if it has fewer.")


# --- files --------------------------------------------------------------------------------------------------------


def _read_files(job: NodePreviewJob, source: Source, cancellation: Cancellation) -> Excerpt:
    handler = load_file_source(source, _context(job, source))
    newest = find_newest(source, handler, lambda files: (), MOST_BYTES[job.sample])
    scans = []
    for file in newest.files:
        cancellation.check()
        scans.append(_scan(source, file, handler.reader, MOST_BYTES[job.sample]))
    reading = _picked(job, read_files(source, tuple(scans), handler.reader))
    unread = tuple(describe_others(source, archive, names) for archive, names in newest.unread)
    return Excerpt(reading, _extent(job.sample, scans, reading.records or 0, newest.left_out), unread=unread)


def _scan(source: Source, file: SourceFile, store: FileStore, most_bytes: int) -> FileScan:
    format, declared = config_of(source, FilesConfig).format, tuple(source.columns or ())
    handler = FORMATS[format.type]
    if file.size <= most_bytes:
        return handler.scan(file, format, declared, store=store)
    return handler.scan_head(file, format, declared, store=store, most_bytes=most_bytes)


def _picked(job: NodePreviewJob, reading: Reading) -> Reading:
    if job.sample == "random":
        return pick_random(reading, MOST_ROWS, job.seed)
    return pick_first(reading, MOST_ROWS if job.sample == "first" else MOST_SEARCHED)


def _extent(sample: SampleKind, scans: Sequence[FileScan], picked: int, left_out: int) -> str:
    """Return the description of the part, such as `1,000 random rows of the first 148,222 rows of orders.csv.`"""
    records = sum(scan.records for scan in scans)
    of = scans[0].file.name if len(scans) == 1 else counted(len(scans), "file")
    is_whole = all(scan.sha256 for scan in scans)
    newest = f" {counted(left_out, 'older file')} not read." if left_out else ""
    if is_whole and picked == records:
        return f"All {counted(records, 'row')} of {of}.{newest}"
    if sample == "random":
        pool = f"all {records:,} rows" if is_whole else f"the first {records:,} rows"
        return f"{counted(picked, 'random row')} of {pool} of {of}.{newest}"
    return f"The first {counted(picked, 'row')} of {of}.{newest}"
