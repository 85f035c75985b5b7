"""Taking files in: list, let them settle, claim, scan, leave out what was loaded before, and put them away."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from executors.errors import Terminal, WaitForFiles
from executors.model import FileScan, RunJob, RunWarning, SourceFile, Split
from executors.ports import Ports
from executors.sources import FileSource, load_source
from ir.connectors import typed_config
from ir.nodes import Source

Scanner = Callable[[Source, Sequence[SourceFile]], list[FileScan]]


@dataclass(slots=True)
class Intake:
    """The files of one source in one run: pinned, so that every target reads the same."""

    source: Source
    scans: list[FileScan] = field(default_factory=list)
    warnings: list[RunWarning] = field(default_factory=list)
    missed: bool = False

    @property
    def hashes(self) -> list[str]:
        return [scan.sha256 for scan in self.scans]


def splits_of(scans: Sequence[FileScan]) -> tuple[Split, ...]:
    return tuple(split for scan in scans for split in scan.splits)


class FileIntake:
    """Opens each source of a run once and remembers what it gave."""

    def __init__(self, job: RunJob, ports: Ports, scan: Scanner) -> None:
        self._job, self._ports, self._scan = job, ports, scan
        self._handlers: dict[str, FileSource] = {}
        self._opened: dict[str, Intake] = {}

    def open(self, source: Source) -> Intake:
        """List, settle, claim and scan the files of a source; every later call gives the same."""
        if source.id not in self._opened:
            self._opened[source.id] = self._take_in(source)
        return self._opened[source.id]

    def finish(self, failed: Collection[str], reason: str = "") -> None:
        """Put every file away that was claimed; `failed` are the hashes of those that some target does not have."""
        for source_id, intake in self._opened.items():
            for scan in intake.scans:
                succeeded = scan.sha256 not in failed
                self._handlers[source_id].finish(scan.file, succeeded)
                self._ports.units.finish([scan.sha256], "committed" if succeeded else "failed", reason)

    def finish_claimed(self, source: Source, loaded: Collection[str]) -> None:
        """Put away what an earlier attempt of this run had claimed and loaded when it died."""
        handler = load_source(source, self._job.files_folder)
        for file in handler.list_claimed(time.time()):
            with open(file.path, "rb") as content:
                sha256 = hashlib.file_digest(content, "sha256").hexdigest()
            if sha256 in loaded:
                handler.finish(file, True)
        self._ports.units.finish(loaded, "committed")

    def _take_in(self, source: Source) -> Intake:
        handler = self._handlers[source.id] = load_source(source, self._job.files_folder)
        self._ports.events.step("list", source.id)
        files = self._settled(source, handler)
        if not files:
            return self._missed(source)
        files = [replace(handler.claim(file), seq=seq) for seq, file in enumerate(files)]
        self._ports.events.step("scan", source.id)
        scans = self._scan(source, files)
        self._ports.cancellation.check()
        intake = Intake(source)
        self._keep_first_of_each(intake, scans)
        self._ports.units.claim(source.id, {scan.sha256: scan.file for scan in intake.scans})
        return intake

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
                self._handlers[intake.source.id].finish(scan.file, True)
                continue
            seen[scan.sha256] = scan.file.name
            intake.scans.append(scan)
            for text in scan.warnings:
                intake.warnings.append(RunWarning("source.header", intake.source.id, f"{scan.file.name}: {text}"))

    def _missed(self, source: Source) -> Intake:
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
        return Intake(source, missed=True)
