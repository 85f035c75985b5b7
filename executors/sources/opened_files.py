"""The files of one source in one run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from executors.errors import InvalidContent
from executors.formats.files import sha256_of
from executors.model import FileScan, SourceFile
from executors.report import RunWarning
from executors.sources.base import FileSource
from ir.nodes import Source


@dataclass(slots=True)
class OpenedFiles:
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
    is_read_only: bool = False

    @property
    def files(self) -> dict[str, SourceFile]:
        """All files by their hash."""
        return {scan.sha256: scan.file for scan in self.scans} | self.unread

    @property
    def hashes(self) -> list[str]:
        return list(self.files)

    def add_scan(self, scan: FileScan) -> None:
        """Add the scan of a file, and the warnings about its header."""
        self.scans.append(scan)
        for text in scan.warnings:
            self.warnings.append(RunWarning("source.header", self.source.id, f"{scan.file.name}: {text}"))

    def archive(self, file: SourceFile, *, loaded: bool) -> None:
        """Archive a claimed file, unless files are only read."""
        if not self.is_read_only:
            self.handler.archive(file, loaded)
        del self.claimed[key_of(file)]


def key_of(file: SourceFile) -> tuple[str, str]:
    """Identify a listed file: a link has the path of another file, a claimed file perhaps the name of a new one."""
    return file.path, file.name


def is_loaded(handler: FileSource, file: SourceFile, now: float, loaded: Collection[str]) -> bool:
    """Return whether these hashes include the file, of an archive all members."""
    return all(sha256_of(part, handler.reader) in loaded for part in members_or_itself(handler, file, now))


def members_or_itself(handler: FileSource, file: SourceFile, now: float) -> Sequence[SourceFile]:
    """Return the members of an archive. One that cannot be read stands for itself, as do all other files."""
    try:
        return handler.unpack(file, now).files
    except InvalidContent:
        return (file,)
