"""Reads files as a source: excludes those that a target has loaded before, and archives them after the load."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from executors.errors import Failure, InvalidContent, Transient
from executors.file_order import warn_of_late
from executors.formats.files import changed, sha256_of
from executors.load_record import LoadCommit, Loaded
from executors.model import FileScan, RunJob, SourceFile
from executors.ports import Ports
from executors.reading import Reading, read_files
from executors.report import RunWarning
from executors.runs.target_run import TargetRun
from executors.sources import load_file_source
from executors.sources.base import FileSource, SourceContext
from executors.sources.file_columns import columns_of, scanned_file
from executors.sources.file_discovery import FileDiscovery, Scanner
from executors.sources.file_findings import blank_beside_others, table_changed, table_gone, target_renamed
from executors.sources.opened_files import OpenedFiles, is_loaded, key_of, members_or_itself
from ir.load_modes import load_mode
from ir.nodes import Source

LOADED = "The same content was already loaded."
DELETED = "The same content was loaded and undone. To load it, choose Load again."


class FileSourceReader:
    """Opens each source of a run once and caches the result. With `read_only`, no file is moved."""

    def __init__(self, job: RunJob, ports: Ports, scan: Scanner, *, read_only: bool = False) -> None:
        self._job, self._ports, self._scan, self._read_only = job, ports, scan, read_only
        self._discovery = FileDiscovery(job, ports, scan)
        self._opened: dict[str, OpenedFiles] = {}

    def read(
        self, source: Source, target_run: TargetRun, target_runs: Sequence[TargetRun], *, again: bool = False
    ) -> Reading | None:
        """Return the files that the target has not loaded yet, or all with `again`, among those that its source's other
        targets have loaded."""
        opened = self._open(source)
        for other in target_runs:
            if other.commit:
                self._keep(opened, self._held_by(other, other.commit, opened))
                # They are loaded by this run, even if other targets have not loaded them yet.
                self._want(opened, [scan for scan in opened.scans if scan.sha256 in other.commit.files_of(source.id)])
        scans = self._scans_of(opened, opened.hashes if again else self._to_load(target_run, opened))
        if not scans:
            return None
        self._want(opened, scans)
        return read_files(opened.source, scans, opened.handler.reader)

    def warnings_of(self, source: Source) -> list[RunWarning]:
        return self._opened[source.id].warnings

    def nothing_new(self, source: Source) -> str:
        opened = self._opened[source.id]
        if opened.missed:
            return "No file was found."
        text = f"Every matching file ({len(opened.hashes):,}) is loaded already"
        return f"{text}, or was undone ({len(opened.deleted):,})." if opened.deleted else f"{text}."

    def archive_loaded(self, source: Source, target_runs: Sequence[TargetRun]) -> None:
        commits = [set(target_run.commit.files_of(source.id)) for target_run in target_runs if target_run.commit]
        if len(commits) == len(target_runs):
            # Files without a commit of this run were loaded before: all targets have read the same files.
            self._archive_unopened(source, set.union(*commits))
        if opened := self._opened.get(source.id):
            self._archive(opened, loaded=True)
            self._ports.units.finish(opened.wanted)
            self._skip_unwanted(opened)

    def archive_failed(self, source: Source, reason: str) -> None:
        if opened := self._opened.get(source.id):
            # The files are hashed before they move, and recorded even if one of them cannot be moved.
            self._ports.units.fail(source.id, self._by_hash(opened), reason)
            self._archive(opened, loaded=False)

    def requeue(self, source: Source) -> None:
        if (opened := self._opened.get(source.id)) and not self._read_only:
            while opened.claimed:
                opened.handler.requeue(opened.claimed.popitem()[1])

    def interrupt(self) -> None:
        """Listing and scanning end with their Spark job."""

    # --- the files of a target ---------------------------------------------------------------------------------

    def _held_by(self, target_run: TargetRun, commit: LoadCommit, opened: OpenedFiles) -> set[str]:
        held, target = set(commit.files_of(opened.source.id)), target_run.path.target
        if missing := held - set(opened.hashes):
            raise Transient(
                "source.changed",
                f"An earlier attempt loaded files into {target.id}, and {len(missing):,} of them were deleted or "
                "changed since. The other targets cannot load the same rows.",
                node=opened.source.id,
                hint="Restore them, or start a new run.",
            )
        if load_mode(target.load_mode).replaces_all_rows:
            return held
        return held | self._loaded(target_run, opened).keys()

    def _to_load(self, target_run: TargetRun, opened: OpenedFiles) -> list[str]:
        """Return the hashes of the files that this target has not loaded yet. For modes that replace all rows, return
        all files or none."""
        forgotten = self._ports.units.forgotten(opened.hashes)
        if load_mode(target_run.path.target.load_mode).replaces_all_rows:
            last = target_run.handler.find_last_files(self._job, target_run, opened.source.id)
            if (
                last is None
                or set(last[1]) != set(opened.hashes)
                or not target_run.table_exists
                or self._loaded_elsewhere(target_run)
            ):
                return opened.hashes
            return [] if all(last[0] > token for token in forgotten.values()) else opened.hashes
        loaded = self._loaded(target_run, opened)
        known = {sha256: by.node for sha256, by in loaded.items() if by.token > forgotten.get(sha256, -1)}
        self._note_deleted(opened, {sha256 for sha256 in known if loaded[sha256].is_undone})
        if known and not target_run.table_exists:
            raise table_gone(target_run.path.target, len(known))
        if known and (other := self._loaded_elsewhere(target_run)):
            raise table_changed(target_run.path.target, other, len(known))
        self._warn_of_renamed(
            target_run, opened, [node for node in known.values() if node != target_run.path.target.id]
        )
        return [sha256 for sha256 in opened.hashes if sha256 not in known]

    def _note_deleted(self, opened: OpenedFiles, hashes: Collection[str]) -> None:
        for sha256, file in opened.files.items():
            if sha256 in hashes and sha256 not in opened.deleted:
                text = f"{file.name} was undone and is not loaded. To load it, choose Load again."
                self._ports.events.log("info", text, opened.source.id)
        opened.deleted |= set(hashes)

    def _loaded(self, target_run: TargetRun, opened: OpenedFiles) -> Mapping[str, Loaded]:
        return target_run.handler.find_loaded(self._job, target_run, opened.source.id, opened.hashes)

    def _warn_of_renamed(self, target_run: TargetRun, opened: OpenedFiles, nodes: Sequence[str]) -> None:
        """Warn until the target has loaded something itself, because only a node with a new purpose needs the
        warning."""
        if nodes and target_run.handler.find_last_files(self._job, target_run, opened.source.id) is None:
            opened.warnings.append(target_renamed(target_run.path.target, nodes))

    def _loaded_elsewhere(self, target_run: TargetRun) -> str | None:
        return target_run.handler.find_loaded_elsewhere(self._job, target_run)

    # --- the files themselves ---------------------------------------------------------------------------------

    def _open(self, source: Source) -> OpenedFiles:
        """Find the files of a source once. Later calls return the same result."""
        if source.id not in self._opened:
            opened = OpenedFiles(source, self._load(source), is_read_only=self._read_only)
            # Stored before the files are found, so that claimed files are archived if the rest fails.
            self._opened[source.id] = opened
            self._discovery.find(opened)
        return self._opened[source.id]

    def _keep(self, opened: OpenedFiles, hashes: Collection[str]) -> None:
        """Exclude all other files. They stay in place for the next run."""
        late = {sha256: file for sha256, file in opened.files.items() if sha256 not in hashes}
        for file in late.values():
            self._ports.events.log(
                "info",
                f"{file.name} arrived after the run's first attempt. The next run loads it.",
                opened.source.id,
            )
            opened.claimed.pop(key_of(file.stored), None)
        opened.scans = [scan for scan in opened.scans if scan.sha256 not in late]
        opened.unread = {sha256: file for sha256, file in opened.unread.items() if sha256 not in late}

    def _want(self, opened: OpenedFiles, scans: Sequence[FileScan]) -> None:
        """Mark the files that a target has to load as being processed. The state of other files does not change."""
        fresh = {scan.sha256: scanned_file(opened.source, scan) for scan in scans if scan.sha256 not in opened.wanted}
        if fresh:
            opened.warnings += warn_of_late(opened.source, scans, self._ports.units)
            opened.warnings += blank_beside_others(opened.source, scans)
            self._ports.units.claim(opened.source.id, fresh)
            opened.wanted |= fresh.keys()

    def _archive(self, opened: OpenedFiles, *, loaded: bool) -> None:
        """Archive the claimed files. Files archived before are not moved again."""
        for file in list(opened.claimed.values()):
            opened.archive(file, loaded=loaded)

    def _skip_unwanted(self, opened: OpenedFiles) -> None:
        for scan in opened.scans:
            if scan.sha256 not in opened.wanted:
                reason = DELETED if scan.sha256 in opened.deleted else LOADED
                self._ports.units.skip(opened.source.id, scan.file, scan.sha256, reason)

    def _archive_unopened(self, source: Source, loaded: Collection[str]) -> None:
        """Archive files that an earlier attempt of this run had claimed and loaded before it ended."""
        if source.id in self._opened:
            return
        handler, now = self._load(source), time.time()
        for file in handler.list_claimed(now):
            if is_loaded(handler, file, now, loaded):
                handler.archive(file, True)
        self._ports.units.finish(loaded)

    def _by_hash(self, opened: OpenedFiles) -> dict[str, SourceFile]:
        """Return the open files by hash; if the scan was incomplete, they are read once more. A file that is missing or
        unreadable has no hash, and may be the reason for the failure, which is the error to report."""
        if opened.scans:
            return {scan.sha256: scanned_file(opened.source, scan) for scan in opened.scans}
        found: dict[str, SourceFile] = {}
        now = time.time()
        for claimed in opened.claimed.values():
            for file in members_or_itself(opened.handler, claimed, now):
                found |= self._hashed(opened, file)
        return found

    def _hashed(self, opened: OpenedFiles, file: SourceFile) -> dict[str, SourceFile]:
        """Return a file by its hash, or nothing if it cannot be read; the archive of a damaged member instead."""
        store = opened.handler.reader
        try:
            return {sha256_of(file, store): replace(file, columns=columns_of(opened.source, file, store))}
        except InvalidContent:
            return self._hashed(opened, file.stored) if file.member else {}
        except Failure:
            return {}

    def _load(self, source: Source) -> FileSource:
        return load_file_source(source, SourceContext.of(self._job, source, read_only=self._read_only))

    def _scans_of(self, opened: OpenedFiles, hashes: Collection[str]) -> list[FileScan]:
        """Return the scans of these files in the order of the source. Files that were not read yet are scanned now."""
        wanted = set(hashes)
        unread = [file for sha256, file in opened.unread.items() if sha256 in wanted]
        for scan in self._scan(opened.source, unread, opened.handler.reader) if unread else ():
            if opened.unread.pop(scan.sha256, None) is None:
                raise changed(scan.file, "has other content than at its last load, but the same version")
            opened.add_scan(scan)
        return sorted((scan for scan in opened.scans if scan.sha256 in wanted), key=lambda scan: scan.file.seq)
