"""Reads the references of joins. Each reference is read completely in every run, and nothing of it is claimed or
moved."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack, suppress

from executors.errors import Failure, Terminal, Transient, WaitForFiles
from executors.model import RunJob, SourceFile
from executors.ports import Ports
from executors.reading import Reading, read_files
from executors.report import RunWarning
from executors.runs.names import LIST, SCAN
from executors.sources import load_file_source, load_snapshot_source
from executors.sources.base import FileSource, Listing, SnapshotSource, SourceContext
from executors.sources.file_discovery import Scanner
from executors.sources.file_findings import report_others
from ir.connectors import CONNECTORS, config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source
from ir.pipeline import Path
from ir.words import counted


class ReferenceReader:
    """Opens each reference of a run once, so that all targets read the same data. `read_only` is for runs that load
    nothing."""

    def __init__(self, job: RunJob, ports: Ports, scan: Scanner, stack: ExitStack, *, read_only: bool = False) -> None:
        self._job, self._ports, self._scan, self._stack = job, ports, scan, stack
        self._read_only = read_only
        self._files: dict[str, Reading] = {}
        self.warnings: list[RunWarning] = []
        self._snapshots: dict[str, SnapshotSource] = {}

    def read(self, path: Path, later: Collection[Path] = ()) -> Mapping[str, Reading]:
        """Return the references of a path's joins, by the ids of their sources. `later` are the paths that are read
        after it.

        Raises Terminal `join.reference_empty`, Transient `source.changed`, WaitForFiles, and errors of reading.
        """
        needed_later = {reference.source.id for other in later for reference in other.references.values()}
        sources = {reference.source.id: reference.source for reference in path.references.values()}
        return {name: self._read(source, is_last=name not in needed_later) for name, source in sources.items()}

    def interrupt(self) -> None:
        """Interrupt reading, from another thread. The reader raises."""
        for handler in list(self._snapshots.values()):
            with suppress(Failure):
                handler.interrupt()

    def _read(self, source: Source, *, is_last: bool) -> Reading:
        if CONNECTORS[source.connector].reads == "snapshot":
            reading = self._snapshot(source).reading(is_last=is_last)
        else:
            reading = self._file_reading(source)
        refuse_empty(source, reading)
        return reading

    def _snapshot(self, source: Source) -> SnapshotSource:
        if source.id not in self._snapshots:
            self._ports.events.step(LIST.name, source.id)
            context = SourceContext.of(self._job, source, read_only=self._read_only)
            handler = load_snapshot_source(source, context)
            # Stored before it is open, because opening may take long and must be interruptible.
            self._snapshots[source.id] = handler
            handler.open(self._stack)
        return self._snapshots[source.id]

    def _file_reading(self, source: Source) -> Reading:
        if source.id not in self._files:
            self._ports.events.step(LIST.name, source.id)
            handler = load_file_source(source, SourceContext.of(self._job, source, read_only=True))
            listing = self._settled(source, handler)
            if not listing.files:
                raise self._missed(source)
            self._ports.events.step(SCAN.name, source.id)
            files = self._unpacked(source, handler, listing)
            reading = read_files(source, self._scan(source, files, handler.reader), handler.reader)
            found = f"{counted(len(files), 'file')} with {counted(reading.records or 0, 'row')}"
            self._ports.events.log("info", f"Reference: {found}.", source.id)
            self._files[source.id] = reading
        return self._files[source.id]

    def _unpacked(self, source: Source, handler: FileSource, listing: Listing) -> list[SourceFile]:
        found: list[SourceFile] = []
        for file in listing.files:
            members = handler.unpack(file, time.time())
            found += members.files
            report_others(source, file, members.others, self.warnings, self._ports.events)
        return [file.at(seq) for seq, file in enumerate(found)]

    def _settled(self, source: Source, handler: FileSource) -> Listing:
        """Return all matching files once they are settled. Raises Transient `source.changed` for a growing file: rows
        that look up the missing part would have no match."""
        listing = handler.list_files(time.time(), self._ports.units.arrived_whole)
        if not listing.unsettled:
            return listing
        deadline = time.monotonic() + config_of(source, FilesConfig).wait_policy.settle_seconds
        while time.monotonic() < deadline:
            self._ports.cancellation.check()
            time.sleep(0.2)
        listing = handler.list_files(time.time(), self._ports.units.arrived_whole, listing.unsettled)
        if listing.unsettled:
            raise Transient(
                "source.changed",
                f"{listing.unsettled[0].name}, a file of the reference {source.id}, is still growing.",
                node=source.id,
            )
        return listing

    def _missed(self, source: Source) -> Failure:
        config = config_of(source, FilesConfig)
        policy, waited = config.wait_policy, self._job.waited
        text = f"No file in {config.location!r} matches {config.pattern.value!r}"
        if waited is not None and waited < policy.max_retries:
            return WaitForFiles("source.no_files", f"{text}.", minutes=policy.interval_minutes, node=source.id)
        return _empty(source, f"{text}, so that the reference {source.id} has no rows.")


def refuse_empty(source: Source, reading: Reading) -> None:
    """Raise Terminal `join.reference_empty` for a reference without rows."""
    if reading.is_blank or reading.is_empty():
        names = ", ".join(origin.name for origin in reading.origins[:3])
        raise _empty(source, f"The reference {source.id} has no rows: {names} is empty.")


def _empty(source: Source, text: str) -> Terminal:
    return Terminal(
        "join.reference_empty",
        text,
        node=source.id,
        hint="Restore the rows, or correct the source. Without them no row has a match.",
    )
