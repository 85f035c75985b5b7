"""Files of sources, and what a scan finds in them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

from ir.types import ColumnType


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A matched file. `seq` is its position in the order of the source; `name` is relative to the workspace's folder.

    `path` is its address for the connector. `inode` and `ctime_ns` distinguish the file from a later file at the same
    path. `version` is the store's version of the content, such as an ETag; None if the connector has none. A scan sets
    `records`, and `first_line` (the line of record 1) if every record takes exactly one line; else `first_line` is
    None. It also sets `columns`: the name and type of each column, in the order of the file. The type is "" if no
    value determines it. `member` says where the bytes are if the file is in a ZIP archive: then `size` is the size of
    the unpacked file, and `path` is only a label. `fingerprint` identifies the bytes without reading them; it is empty
    unless the store guarantees that.
    """

    seq: int
    path: str
    name: str
    size: int
    mtime_ns: int
    records: int | None = None
    first_line: int | None = None
    inode: int | None = None
    ctime_ns: int | None = None
    version: str | None = None
    columns: tuple[tuple[str, str], ...] | None = None
    member: ArchiveMember | None = None
    fingerprint: str = ""

    @property
    def stored(self) -> SourceFile:
        """The file that the connector has listed: the archive of a member, else the file itself."""
        return self.member.archive if self.member else self

    def at(self, seq: int) -> SourceFile:
        """Return the same file at this position, for listings of many files in less time than `replace`."""
        return self if self.seq == seq else SourceFile(seq, *_after_seq(self))

    def without_change_time(self) -> SourceFile:
        """Return the same file for comparisons that ignore when its permissions or links changed."""
        if self.member is None:
            return self if self.ctime_ns is None else replace(self, ctime_ns=None)
        return replace(self, member=replace(self.member, archive=self.member.archive.without_change_time()))

    @classmethod
    def found(cls, seq: int, path: str, name: str, status: os.stat_result) -> SourceFile:
        """Build the entry of a file from its file system metadata."""
        size, modified, changed = status.st_size, status.st_mtime_ns, status.st_ctime_ns
        return cls(seq, path, name, size, modified, inode=status.st_ino, ctime_ns=changed)

    def is_same(self, now: SourceFile) -> bool:
        """Return whether the file now at this path is the same file, unchanged, as far as the known metadata shows."""
        if (self.size, self.mtime_ns) != (now.size, now.mtime_ns):
            return False
        return all(
            known in (None, found_now)
            for known, found_now in (
                (self.inode, now.inode),
                (self.ctime_ns, now.ctime_ns),
                (self.version, now.version),
            )
        )


_after_seq: Callable[[SourceFile], tuple[Any, ...]] = attrgetter(*(one.name for one in fields(SourceFile)[1:]))


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file in a ZIP archive: the archive as it was listed, and from its directory where the local header of the file
    begins, the size of its stored bytes, their compression method and the CRC-32 of the unpacked bytes."""

    archive: SourceFile
    offset: int
    stored_size: int
    method: int
    crc: int


@dataclass(frozen=True, slots=True)
class NewestFile:
    """The newest file that a source has loaded. `mtime_ns` is in nanoseconds since 1970."""

    name: str
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SourceField:
    """A column as the source provides it. `as_text` means that values arrive as text and are parsed when needed;
    `only_null` means that no value determines the type.
    """

    name: str
    type: ColumnType
    as_text: bool = False
    only_null: bool = False


@dataclass(frozen=True, slots=True)
class FileCopy:
    """Where a scan has written the bytes of a small file: in a file of the run, from an offset on."""

    path: str
    offset: int


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a file that one task reads: bytes `[start, end)`, or row groups for columnar formats.

    `first_record` is the 1-based number of its first data record in the file, `checksums` are those of the whole file
    (`formats.verified`), None if nobody has read all of it: then its bytes are not compared. `copy` may be missing or
    damaged when it is read, and only saves a request.
    """

    file: SourceFile
    sha256: str
    start: int
    end: int
    first_record: int
    records: int
    checksums: bytes | None = b""
    copy: FileCopy | None = None


@dataclass(frozen=True, slots=True)
class FileScan:
    """The result of scanning a file's bytes once. A blank file has no records and no column names; its fields are the
    declared ones.
    """

    file: SourceFile
    sha256: str
    records: int
    fields: tuple[SourceField, ...]
    splits: tuple[Split, ...]
    warnings: tuple[str, ...] = ()
    first_line: int | None = None
    is_blank: bool = False

    def scanned_file(self) -> SourceFile:
        """Return the file with the results of the scan."""
        return replace(self.file, records=self.records, first_line=self.first_line, columns=self.columns)

    @property
    def columns(self) -> tuple[tuple[str, str], ...] | None:
        """The columns of the file as in `SourceFile`; None for a blank file, which has none."""
        if self.is_blank:
            return None
        return tuple((field.name, "" if field.only_null else str(field.type)) for field in self.fields)

    def with_checksums(self, checksums: bytes | None) -> FileScan:
        """Return the file marked so that readers verify every byte, or none."""
        return replace(self, splits=tuple(replace(split, checksums=checksums) for split in self.splits))
