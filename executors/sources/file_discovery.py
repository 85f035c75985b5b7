"""Finds the files of a source for a run: lists, settles, claims, unpacks and scans them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from executors.errors import Terminal, WaitForFiles
from executors.file_order import held_back, line_up, refuse_held_back
from executors.formats.files import FileStore
from executors.model import FileScan, RunJob, SourceFile
from executors.ports import Ports
from executors.report import RunWarning
from executors.runs.names import LIST, SCAN
from executors.sources.base import FileSource, Listing
from executors.sources.file_findings import report_others
from executors.sources.opened_files import OpenedFiles, key_of
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.load_modes import load_mode
from ir.nodes import Source
from ir.words import counted

Scanner = Callable[[Source, Sequence[SourceFile], FileStore], list[FileScan]]


class FileDiscovery:
    """Finds the files of sources in one run."""

    def __init__(self, job: RunJob, ports: Ports, scan: Scanner) -> None:
        self._job, self._ports, self._scan = job, ports, scan

    def find(self, opened: OpenedFiles) -> None:
        """Find, claim and scan the files of a source. They are claimed before the scan, so that files that cannot be
        scanned are archived too. Raises Failure, among others WaitForFiles."""
        source, handler = opened.source, opened.handler
        self._ports.events.step(LIST.name, source.id)
        listing = self._settled(source, handler)
        queue = line_up(source, listing.files, self._ports.units)
        if queue.waiting and (not queue.ready or self._replaces_all(source)):
            raise refuse_held_back(source, queue)
        opened.claimed |= {key_of(file): file for file in self._claim(opened, queue.ready)}
        if not opened.claimed:
            self._miss(opened, listing)
            return
        if queue.waiting:
            opened.warnings.append(held_back(source, queue))
        self._scan_files(opened, self._unpack(opened))

    def _scan_files(self, opened: OpenedFiles, files: Sequence[SourceFile]) -> None:
        self._ports.events.step(SCAN.name, opened.source.id)
        unread = self._unread(files)
        scans = self._scan(opened.source, [file for file in files if file.seq not in unread], opened.handler.reader)
        self._ports.cancellation.check()
        self._keep_first_of_each(opened, scans, unread)
        if not unread:
            self._warn_if_empty(opened, scans)

    def _unread(self, files: Sequence[SourceFile]) -> dict[int, tuple[str, SourceFile]]:
        """Return the files that were loaded before and have not changed since, with their hashes, by position."""
        fingerprints = {file.fingerprint for file in files if file.fingerprint}
        known = self._ports.units.known_hashes(fingerprints) if fingerprints else {}
        return {file.seq: (known[file.fingerprint], file) for file in files if file.fingerprint in known}

    def _claim(self, opened: OpenedFiles, files: Sequence[SourceFile]) -> list[SourceFile]:
        """Return the files that no other claimant has taken since they were listed."""
        if opened.is_read_only:
            return list(files)
        claimed: list[SourceFile] = []
        for file in files:
            if taken := opened.handler.claim(file):
                claimed.append(taken.at(len(claimed)))
            else:
                text = f"{file.name} was moved or claimed by another pipeline and is skipped."
                self._ports.events.log("info", text, opened.source.id)
        return claimed

    def _unpack(self, opened: OpenedFiles) -> list[SourceFile]:
        """Return the files to read: the members of ZIP archives, and all other files themselves."""
        files: list[SourceFile] = []
        now = time.time()
        for claimed in opened.claimed.values():
            self._ports.cancellation.check()
            members = opened.handler.unpack(claimed, now)
            files += members.files
            report_others(opened.source, claimed, members.others, opened.warnings, self._ports.events)
        return [file.at(seq) for seq, file in enumerate(files)]

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
        self, opened: OpenedFiles, scans: Sequence[FileScan], unread: dict[int, tuple[str, SourceFile]]
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
                opened.add_scan(by_position[seq])

    def _repeated(self, opened: OpenedFiles, file: SourceFile, sha256: str, first: str) -> None:
        self._ports.units.skip(opened.source.id, file, sha256, f"Same content as {first}.")
        text = f"{file.name} has the same content as {first} and is read once."
        opened.warnings.append(RunWarning("file.repeated", opened.source.id, text))
        if file.member is None:
            opened.archive(file, loaded=True)

    def _warn_if_empty(self, opened: OpenedFiles, scans: Sequence[FileScan]) -> None:
        """Warn of files without rows if the source warns of missing files."""
        if config_of(opened.source, FilesConfig).wait_policy.on_miss_action == "alert" and not any(
            scan.records for scan in scans
        ):
            text = f"{counted(len(scans), 'file')} arrived, but none has rows."
            self._alert_and_warn(opened, "source.empty", text, "Check whether the sender has lost its data.")

    def _miss(self, opened: OpenedFiles, listing: Listing) -> None:
        """Handle a source without files: wait if the policy says so, else do what `onMissAction` says."""
        source = opened.source
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
        opened.missed = True
        if policy.on_miss_action == "alert":
            self._alert_and_warn(opened, "source.missed", text, "Check whether the sender has stopped.")
        self._ports.events.log("info", f"{text} Nothing to load.", source.id)

    def _alert_and_warn(self, opened: OpenedFiles, kind: str, text: str, next_step: str) -> None:
        """Raise an alert, and add the same warning to the run for users who see only the run."""
        self._ports.events.alert(kind, "warning", text, next_step, opened.source.id)
        opened.warnings.append(RunWarning(kind, opened.source.id, text))
