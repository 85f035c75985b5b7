"""Taking files in: list, let them settle, claim, scan, leave out what was loaded before, and put them away."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from executors.errors import Terminal, WaitForFiles
from executors.model import FileScan, RunJob, RunWarning, SourceFile
from executors.ports import Ports
from executors.sources import FileSource, load_source
from ir.connectors import typed_config
from ir.nodes import Source

Scanner = Callable[[Source, Sequence[SourceFile]], list[FileScan]]
Opener = Callable[[Source, Path], FileSource]


@dataclass(slots=True)
class Intake:
    """The files of one source in one run: pinned, so that every target reads the same.

    `claimed` are those that are still to be put away, `wanted` the hashes of those that some target had to load.
    """

    source: Source
    handler: FileSource
    claimed: list[SourceFile] = field(default_factory=list)
    scans: list[FileScan] = field(default_factory=list)
    warnings: list[RunWarning] = field(default_factory=list)
    wanted: set[str] = field(default_factory=set)
    missed: bool = False

    @property
    def hashes(self) -> list[str]:
        return [scan.sha256 for scan in self.scans]


class FileIntake:
    """Opens each source of a run once and remembers what it gave. `opener` gives the connector of a source."""

    def __init__(self, job: RunJob, ports: Ports, scan: Scanner, opener: Opener = load_source) -> None:
        self._job, self._ports, self._scan, self._open_source = job, ports, scan, opener
        self._opened: dict[str, Intake] = {}

    def open(self, source: Source) -> Intake:
        """List, settle, claim and scan the files of a source; every later call gives the same."""
        if source.id not in self._opened:
            self._take_in(source)
        return self._opened[source.id]

    def keep(self, intake: Intake, hashes: Collection[str]) -> None:
        """Leave all other files where they are, for the next run."""
        late = [scan for scan in intake.scans if scan.sha256 not in hashes]
        for scan in late:
            self._ports.events.log(
                "info", f"{scan.file.name} came after the run's first attempt and is left for the next run.",
                intake.source.id,
            )  # fmt: skip
            intake.claimed.remove(scan.file)
        intake.scans = [scan for scan in intake.scans if scan not in late]

    def want(self, intake: Intake, scans: Sequence[FileScan]) -> None:
        """Mark the files that a target has to load as being processed; the others keep the state they have."""
        fresh = {scan.sha256: scan.file for scan in scans if scan.sha256 not in intake.wanted}
        if fresh:
            self._ports.units.claim(intake.source.id, fresh)
            intake.wanted |= fresh.keys()

    def put_away(self, source: Source, *, loaded: bool, reason: str = "") -> None:
        """Put away what was claimed of a source, if it was opened; what was put away before stays there."""
        intake = self._opened.get(source.id)
        if intake is None:
            return
        while intake.claimed:
            intake.handler.finish(intake.claimed[0], loaded)
            del intake.claimed[0]
        self._ports.units.finish(intake.wanted, "committed" if loaded else "failed", reason)
        if loaded:
            self._skip_unwanted(intake)

    def _skip_unwanted(self, intake: Intake) -> None:
        for scan in intake.scans:
            if scan.sha256 not in intake.wanted:
                self._ports.units.skip(intake.source.id, scan.file, scan.sha256, "The same bytes were loaded before.")

    def put_away_unopened(self, source: Source, loaded: Collection[str]) -> None:
        """Put away what an earlier attempt of this run had claimed and loaded when it died."""
        if source.id in self._opened:
            return
        handler = self._open_source(source, self._job.files_folder)
        for file in handler.list_claimed(time.time()):
            with open(file.path, "rb") as content:
                sha256 = hashlib.file_digest(content, "sha256").hexdigest()
            if sha256 in loaded:
                handler.finish(file, True)
        self._ports.units.finish(loaded, "committed")

    def _take_in(self, source: Source) -> None:
        handler = self._open_source(source, self._job.files_folder)
        self._ports.events.step("list", source.id)
        files = self._settled(source, handler)
        if not files:
            self._opened[source.id] = self._missed(source, handler)
            return
        # Known before the scan, so that files that cannot even be scanned are put away too.
        claimed = [replace(handler.claim(file), seq=seq) for seq, file in enumerate(files)]
        intake = self._opened[source.id] = Intake(source, handler, claimed)
        self._ports.events.step("scan", source.id)
        scans = self._scan(source, claimed)
        self._ports.cancellation.check()
        self._keep_first_of_each(intake, scans)
        self._tell_if_empty(source, scans)

    def _settled(self, source: Source, handler: FileSource) -> Sequence[SourceFile]:
        """The files that have stood still long enough; waits once for young ones."""
        listing = handler.list_files(time.time())
        if listing.unsettled:
            seconds = typed_config(source).wait_policy.settle_seconds
            self._ports.events.log(
                "info",
                f"{len(listing.unsettled)} files may still be growing; waiting {seconds:g} s for them to settle.",
                source.id,
            )
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                self._ports.cancellation.check()
                time.sleep(min(0.2, seconds))
            listing = handler.list_files(time.time())
            for name in listing.unsettled:
                self._ports.events.log("warning", f"{name} is still growing and is left for the next run.", source.id)
        return listing.files

    def _keep_first_of_each(self, intake: Intake, scans: Sequence[FileScan]) -> None:
        seen: dict[str, str] = {}
        for scan in scans:
            if first := seen.get(scan.sha256):
                self._ports.units.skip(intake.source.id, scan.file, scan.sha256, f"Same bytes as {first}.")
                intake.warnings.append(
                    RunWarning(
                        "file.repeated",
                        intake.source.id,
                        f"{scan.file.name} holds the same bytes as {first} and is read once.",
                    )
                )
                intake.handler.finish(scan.file, True)
                intake.claimed.remove(scan.file)
                continue
            seen[scan.sha256] = scan.file.name
            intake.scans.append(scan)
            for text in scan.warnings:
                intake.warnings.append(RunWarning("source.header", intake.source.id, f"{scan.file.name}: {text}"))

    def _tell_if_empty(self, source: Source, scans: Sequence[FileScan]) -> None:
        """Files without rows are no miss, but who wants to hear of a miss wants to hear of them too."""
        if typed_config(source).wait_policy.on_miss_action == "alert" and not any(scan.records for scan in scans):
            self._ports.events.alert(
                "source.empty",
                "warning",
                f"{len(scans):,} files came, and none holds a row.",
                "Look whether the sender has lost its data.",
                source.id,
            )

    def _missed(self, source: Source, handler: FileSource) -> Intake:
        """No file came: wait if the policy says so, else do what `onMissAction` says."""
        config = typed_config(source)
        policy, waited = config.wait_policy, self._job.waited
        text = f"No file in {config.path!r} matches {config.pattern.value!r}."
        if waited is not None and waited < policy.max_retries:
            raise WaitForFiles("source.no_files", text, minutes=policy.interval_minutes, node=source.id)
        if policy.on_miss_action == "fail":
            raise Terminal(
                "source.no_files",
                text,
                node=source.id,
                hint="Put a file there, correct the pattern, or set onMissAction to skip or alert.",
            )
        if policy.on_miss_action == "alert":
            self._ports.events.alert(
                "source.missed", "warning", text, "Look whether the sender has stopped.", source.id
            )
        self._ports.events.log("info", f"{text} Nothing to load.", source.id)
        return Intake(source, handler, missed=True)
