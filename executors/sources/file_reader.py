"""Reads files as a source: lists, settles, claims and scans them, excludes those loaded before, and archives them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from executors.errors import Failure, InvalidContent, Terminal, Transient, WaitForFiles
from executors.file_order import held_back, line_up, refuse_held_back, warn_of_late
from executors.formats.files import FileStore, changed, sha256_of
from executors.load_record import LoadCommit, Loaded
from executors.model import FileScan, RunJob, SourceFile
from executors.ports import Ports
from executors.reading import Reading, read_files, warn_of_blank
from executors.report import RunWarning
from executors.runs.names import LIST, SCAN
from executors.runs.target_run import TargetRun
from executors.sources import load_file_source
from executors.sources.base import FileSource, Listing, SourceContext
from executors.sources.file_columns import columns_of, scanned_file
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.load_modes import load_mode
from ir.nodes import Source, Target
from ir.words import counted

Scanner = Callable[[Source, Sequence[SourceFile], FileStore], list[FileScan]]
LOADED = "The same content was already loaded."
DELETED = "The same content was loaded and undone. To load it, choose Load again."


@dataclass(slots=True)
class _Opened:
    """The files of one source in one run. They are fixed, so that every target reads the same files.

    `claimed` are the files that still need to be archived, by path and name: a ZIP archive is claimed and archived as a
    whole, while `scans` are those of its members. `unread` are files by hash that were loaded before and that no target
    has needed so far: their fingerprints show that they have not changed. `wanted` are the hashes of files that some
    target had to load, `deleted` those whose rows a user has deleted from a target, so that they are not loaded again.
    """

    source: Source
    handler: FileSource
    claimed: dict[tuple[str, str], SourceFile] = field(default_factory=dict)
    scans: list[FileScan] = field(default_factory=list)
    unread: dict[str, SourceFile] = field(default_factory=dict)
    warnings: list[RunWarning] = field(default_factory=list)
    wanted: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    missed: bool = False

    @property
    def files(self) -> dict[str, SourceFile]:
        """All files by their hash."""
        return {scan.sha256: scan.file for scan in self.scans} | self.unread

    @property
    def hashes(self) -> list[str]:
        return list(self.files)


class FileSourceReader:
    """Opens each source of a run once and caches the result. With `read_only`, no file is moved."""

    def __init__(self, job: RunJob, ports: Ports, scan: Scanner, *, read_only: bool = False) -> None:
        self._job, self._ports, self._scan, self._read_only = job, ports, scan, read_only
        self._opened: dict[str, _Opened] = {}

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

    def _held_by(self, target_run: TargetRun, commit: LoadCommit, opened: _Opened) -> set[str]:
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

    def _to_load(self, target_run: TargetRun, opened: _Opened) -> list[str]:
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
            raise _table_gone(target_run.path.target, len(known))
        if known and (other := self._loaded_elsewhere(target_run)):
            raise _table_changed(target_run.path.target, other, len(known))
        self._warn_of_renamed(
            target_run, opened, [node for node in known.values() if node != target_run.path.target.id]
        )
        return [sha256 for sha256 in opened.hashes if sha256 not in known]

    def _note_deleted(self, opened: _Opened, hashes: Collection[str]) -> None:
        for sha256, file in opened.files.items():
            if sha256 in hashes and sha256 not in opened.deleted:
                text = f"{file.name} was undone and is not loaded. To load it, choose Load again."
                self._ports.events.log("info", text, opened.source.id)
        opened.deleted |= set(hashes)

    def _loaded(self, target_run: TargetRun, opened: _Opened) -> Mapping[str, Loaded]:
        return target_run.handler.find_loaded(self._job, target_run, opened.source.id, opened.hashes)

    def _warn_of_renamed(self, target_run: TargetRun, opened: _Opened, nodes: Sequence[str]) -> None:
        """Warn until the target has loaded something itself, because only a node with a new purpose needs the
        warning."""
        if nodes and target_run.handler.find_last_files(self._job, target_run, opened.source.id) is None:
            opened.warnings.append(_renamed(target_run.path.target, nodes))

    def _loaded_elsewhere(self, target_run: TargetRun) -> str | None:
        return target_run.handler.find_loaded_elsewhere(self._job, target_run)

    # --- the files themselves ---------------------------------------------------------------------------------

    def _open(self, source: Source) -> _Opened:
        """List, settle, claim and scan the files of a source. Later calls return the same result."""
        if source.id not in self._opened:
            self._discover(source)
        return self._opened[source.id]

    def _keep(self, opened: _Opened, hashes: Collection[str]) -> None:
        """Exclude all other files. They stay in place for the next run."""
        late = {sha256: file for sha256, file in opened.files.items() if sha256 not in hashes}
        for file in late.values():
            self._ports.events.log(
                "info",
                f"{file.name} arrived after the run's first attempt. The next run loads it.",
                opened.source.id,
            )
            opened.claimed.pop(_key(file.stored), None)
        opened.scans = [scan for scan in opened.scans if scan.sha256 not in late]
        opened.unread = {sha256: file for sha256, file in opened.unread.items() if sha256 not in late}

    def _want(self, opened: _Opened, scans: Sequence[FileScan]) -> None:
        """Mark the files that a target has to load as being processed. The state of other files does not change."""
        fresh = {scan.sha256: scanned_file(opened.source, scan) for scan in scans if scan.sha256 not in opened.wanted}
        if fresh:
            opened.warnings += warn_of_late(opened.source, scans, self._ports.units)
            opened.warnings += _warn_of_blank_beside_others(opened.source, scans)
            self._ports.units.claim(opened.source.id, fresh)
            opened.wanted |= fresh.keys()

    def _archive(self, opened: _Opened, *, loaded: bool) -> None:
        """Archive the claimed files. Files archived before are not moved again."""
        for file in list(opened.claimed.values()):
            self._archive_one(opened, file, loaded=loaded)

    def _archive_one(self, opened: _Opened, file: SourceFile, *, loaded: bool) -> None:
        if not self._read_only:
            opened.handler.archive(file, loaded)
        del opened.claimed[_key(file)]

    def _skip_unwanted(self, opened: _Opened) -> None:
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
            if _is_loaded(handler, file, now, loaded):
                handler.archive(file, True)
        self._ports.units.finish(loaded)

    def _by_hash(self, opened: _Opened) -> dict[str, SourceFile]:
        """Return the open files by hash; if the scan was incomplete, they are read once more. A file that is missing or
        unreadable has no hash, and may be the reason for the failure, which is the error to report."""
        if opened.scans:
            return {scan.sha256: scanned_file(opened.source, scan) for scan in opened.scans}
        found: dict[str, SourceFile] = {}
        now = time.time()
        for claimed in opened.claimed.values():
            for file in _members_or_itself(opened.handler, claimed, now):
                found |= self._hashed(opened, file)
        return found

    def _hashed(self, opened: _Opened, file: SourceFile) -> dict[str, SourceFile]:
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

    def _discover(self, source: Source) -> None:
        handler = self._load(source)
        self._ports.events.step(LIST.name, source.id)
        listing = self._settled(source, handler)
        if not listing.files:
            self._opened[source.id] = self._missed(source, handler, listing)
            return
        queue = line_up(source, listing.files, self._ports.units)
        if queue.waiting and (not queue.ready or self._replaces_all(source)):
            raise refuse_held_back(source, queue)
        # Set before the scan, so that files that cannot be scanned are archived too.
        claimed = self._claim(source, handler, queue.ready)
        if not claimed:
            self._opened[source.id] = self._missed(source, handler, listing)
            return
        opened = self._opened[source.id] = _Opened(source, handler, {_key(file): file for file in claimed})
        if queue.waiting:
            opened.warnings.append(held_back(source, queue))
        files = self._unpack(opened)
        self._ports.events.step(SCAN.name, source.id)
        unread = self._unread(files)
        scans = self._scan(source, [file for file in files if file.seq not in unread], handler.reader)
        self._ports.cancellation.check()
        self._keep_first_of_each(opened, scans, unread)
        if not unread:
            self._warn_if_empty(source, scans)

    def _unread(self, files: Sequence[SourceFile]) -> dict[int, tuple[str, SourceFile]]:
        """Return the files that were loaded before and have not changed since, with their hashes, by position."""
        fingerprints = {file.fingerprint for file in files if file.fingerprint}
        known = self._ports.units.known_hashes(fingerprints) if fingerprints else {}
        return {file.seq: (known[file.fingerprint], file) for file in files if file.fingerprint in known}

    def _scans_of(self, opened: _Opened, hashes: Collection[str]) -> list[FileScan]:
        """Return the scans of these files in the order of the source. Files that were not read yet are scanned now."""
        wanted = set(hashes)
        unread = [file for sha256, file in opened.unread.items() if sha256 in wanted]
        for scan in self._scan(opened.source, unread, opened.handler.reader) if unread else ():
            if opened.unread.pop(scan.sha256, None) is None:
                raise changed(scan.file, "has other content than at its last load, but the same version")
            opened.scans.append(scan)
        return sorted((scan for scan in opened.scans if scan.sha256 in wanted), key=lambda scan: scan.file.seq)

    def _claim(self, source: Source, handler: FileSource, files: Sequence[SourceFile]) -> list[SourceFile]:
        """Return the files that no other claimant has taken since they were listed."""
        if self._read_only:
            return list(files)
        claimed: list[SourceFile] = []
        for file in files:
            if taken := handler.claim(file):
                claimed.append(replace(taken, seq=len(claimed)))
            else:
                text = f"{file.name} was moved or claimed by another pipeline and is skipped."
                self._ports.events.log("info", text, source.id)
        return claimed

    def _unpack(self, opened: _Opened) -> list[SourceFile]:
        """Return the files to read: the members of ZIP archives, and all other files themselves."""
        files: list[SourceFile] = []
        now = time.time()
        for claimed in opened.claimed.values():
            self._ports.cancellation.check()
            members = opened.handler.unpack(claimed, now)
            files += members.files
            if members.others:
                opened.warnings.append(_others(opened.source, claimed, members.others))
        return [replace(file, seq=seq) for seq, file in enumerate(files)]

    def _replaces_all(self, source: Source) -> bool:
        """Return whether a load of only some files would remove the rows of all others from a table."""
        pipeline = self._job.pipeline
        targets = [target for target in pipeline.targets() if source in pipeline.sources_of(target)]
        return any(load_mode(target.load_mode).replaces_all_rows for target in targets)

    def _settled(self, source: Source, handler: FileSource) -> Listing:
        """Return the settled files. Waits once for files that may be growing."""
        listing = handler.list_files(time.time(), self._ports.units.arrived_whole)
        if listing.unsettled:
            seconds = config_of(source, FilesConfig).wait_policy.settle_seconds
            self._ports.events.log(
                "info",
                f"{counted(len(listing.unsettled), 'file')} may still be growing: waiting {seconds:g} s.",
                source.id,
            )
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                self._ports.cancellation.check()
                time.sleep(min(0.2, seconds))
            listing = handler.list_files(time.time(), self._ports.units.arrived_whole, listing.unsettled)
            for file in listing.unsettled:
                text = f"{file.name} is still growing. The next run loads it."
                self._ports.events.log("warning", text, source.id)
        return listing

    def _keep_first_of_each(
        self, opened: _Opened, scans: Sequence[FileScan], unread: dict[int, tuple[str, SourceFile]]
    ) -> None:
        found = {scan.file.seq: (scan.sha256, scan.file) for scan in scans} | unread
        by_position = {scan.file.seq: scan for scan in scans}
        seen: dict[str, str] = {}
        for seq, (sha256, file) in sorted(found.items()):
            if first := seen.get(sha256):
                self._repeated(opened, file, sha256, first)
                continue
            seen[sha256] = file.name
            if seq in unread:
                opened.unread[sha256] = file
            else:
                self._keep_scan(opened, by_position[seq])

    def _repeated(self, opened: _Opened, file: SourceFile, sha256: str, first: str) -> None:
        self._ports.units.skip(opened.source.id, file, sha256, f"Same content as {first}.")
        text = f"{file.name} has the same content as {first} and is read once."
        opened.warnings.append(RunWarning("file.repeated", opened.source.id, text))
        if file.member is None:
            self._archive_one(opened, file, loaded=True)

    def _keep_scan(self, opened: _Opened, scan: FileScan) -> None:
        opened.scans.append(scan)
        for text in scan.warnings:
            opened.warnings.append(RunWarning("source.header", opened.source.id, f"{scan.file.name}: {text}"))

    def _warn_if_empty(self, source: Source, scans: Sequence[FileScan]) -> None:
        """Warn of files without rows if the source warns of missing files."""
        if config_of(source, FilesConfig).wait_policy.on_miss_action == "alert" and not any(
            scan.records for scan in scans
        ):
            text = f"{counted(len(scans), 'file')} arrived, but none has rows."
            self._alert_and_warn(
                self._opened[source.id], "source.empty", text, "Check whether the sender has lost its data."
            )

    def _missed(self, source: Source, handler: FileSource, listing: Listing) -> _Opened:
        """Handle a source without files: wait if the policy says so, else do what `onMissAction` says."""
        config = config_of(source, FilesConfig)
        policy, waited = config.wait_policy, self._job.waited
        text = f"No file in {config.location!r} matches {config.pattern.value!r}."
        if listing.claimed_by:
            owners = " and ".join(map(repr, listing.claimed_by))
            text += f" Matching files are claimed by {owners}. If several pipelines read a folder, one gets each file."
        if waited is not None and waited < policy.max_retries:
            raise WaitForFiles("source.no_files", text, minutes=policy.interval_minutes, node=source.id)
        if policy.on_miss_action == "fail":
            raise Terminal(
                "source.no_files",
                text,
                node=source.id,
                hint="Put a file there, correct the pattern, or set onMissAction to skip or alert.",
            )
        missed = _Opened(source, handler, missed=True)
        if policy.on_miss_action == "alert":
            self._alert_and_warn(missed, "source.missed", text, "Check whether the sender has stopped.")
        self._ports.events.log("info", f"{text} Nothing to load.", source.id)
        return missed

    def _alert_and_warn(self, opened: _Opened, kind: str, text: str, next_step: str) -> None:
        """Raise an alert, and add the same warning to the run for users who see only the run."""
        self._ports.events.alert(kind, "warning", text, next_step, opened.source.id)
        opened.warnings.append(RunWarning(kind, opened.source.id, text))


def _key(file: SourceFile) -> tuple[str, str]:
    """Identify a listed file: a link has the path of another file, a claimed file perhaps the name of a new one."""
    return file.path, file.name


def _is_loaded(handler: FileSource, file: SourceFile, now: float, loaded: Collection[str]) -> bool:
    """Return whether these hashes include the file, of an archive all members."""
    return all(sha256_of(part, handler.reader) in loaded for part in _members_or_itself(handler, file, now))


def _members_or_itself(handler: FileSource, file: SourceFile, now: float) -> Sequence[SourceFile]:
    """Return the members of an archive. One that cannot be read stands for itself, as do all other files."""
    try:
        return handler.unpack(file, now).files
    except InvalidContent:
        return (file,)


def _others(source: Source, archive: SourceFile, names: Sequence[str]) -> RunWarning:
    shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    return RunWarning(
        "file.members_not_read",
        source.id,
        f"{counted(len(names), 'file')} in {archive.name} not read, because their names do not match: {shown}.",
    )


def _renamed(target: Target, nodes: Sequence[str]) -> RunWarning:
    return RunWarning(
        "target.renamed",
        target.id,
        f"{counted(len(nodes), 'file')} counted as loaded: {' and '.join(sorted(set(nodes)))}, which this pipeline no "
        f"longer has, loaded them into {target.schema_}.{target.table}. To load them into this target too, load again "
        "with a reason.",
    )


def _table_changed(target: Target, other: str, files: int) -> Terminal:
    return Terminal(
        "target.table_changed",
        f"This target loads {target.schema_}.{target.table} now, but {files:,} of the files were loaded into {other}.",
        node=target.id,
        hint="Load all files again to fill the new table, or set the target back to the old table.",
    )


def _warn_of_blank_beside_others(source: Source, scans: Sequence[FileScan]) -> list[RunWarning]:
    """Warn of blank files that are loaded with others. A source of blank files alone is reported by the load."""
    blank = [scan.file.name for scan in scans if scan.is_blank]
    return [warn_of_blank(source.id, blank)] if 0 < len(blank) < len(scans) else []


def _table_gone(target: Target, files: int) -> Terminal:
    return Terminal(
        "target.table_gone",
        f"{target.schema_}.{target.table} does not exist, though {files:,} of the files count as loaded by this "
        "target: the table was dropped or renamed, or the target names another one now.",
        node=target.id,
        hint="Load all files again to fill a new table, or restore the table.",
    )
