"""ZIP archives of text files: lists their members, each of which is read as a file of its own, and opens them.

Nothing is unpacked to a disk, so names are only labels. The directory of an archive is read once; a member carries what
is needed to open it later, in any process. A directory may be wrong: its size, the places and the sizes of members are
checked before anything is read, and each member must have exactly the size and the checksum that the directory has.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import BinaryIO, NoReturn, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, LargeZipFile, ZipExtFile, ZipFile, ZipInfo

from executors.errors import InvalidContent
from executors.formats.files import BLOCK_BYTES, FileStore
from executors.formats.limits import FREE_BYTES, MOST_EXPANDED_BYTES, MOST_RATIO
from executors.formats.seekable import Seekable
from executors.model import ArchiveMember, SourceFile

MOST_MEMBERS = 10_000
MOST_DIRECTORY_BYTES = 8 << 20
"""How much of an archive is read to list its members."""
MOST_NAME = 700
"""The maximum length of the name of a member."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")
_ENCRYPTED = 0x1
_METHODS = {ZIP_STORED: "stored", ZIP_DEFLATED: "deflate"}
_SEND_HINT = "Send the archive again. Nothing was loaded from it."
_DAMAGES = (BadZipFile, LargeZipFile, zlib.error, EOFError, ValueError, NotImplementedError, struct.error)


@dataclass(frozen=True, slots=True)
class Members:
    """The members of an archive whose names match, by name, and the names of the other files in it."""

    files: tuple[SourceFile, ...]
    others: tuple[str, ...] = ()


def is_archive(name: str) -> bool:
    return name.lower().endswith(".zip")


def list_members(archive: SourceFile, store: FileStore, matches: Callable[[str], bool]) -> Members:
    """List the members of an archive as `members_in`. Raises also as `store.open`."""
    with store.open(archive) as stream:
        return members_in(archive, stream, matches)


def members_in(archive: SourceFile, stream: BinaryIO, matches: Callable[[str], bool]) -> Members:
    """List the members of an open archive whose name, without folders, matches. Directories, hidden files and the
    metadata of macOS are no members.

    Raises InvalidContent for an archive that cannot be read completely and in bounded memory, or has no such member.
    """
    infos = [info for info in _read_directory(stream, archive) if not _is_hidden(info)]
    chosen = [info for info in infos if matches(_last_part(_label(info)))]
    names = {id(info) for info in chosen}
    others = tuple(sorted(_label(info) for info in infos if id(info) not in names))
    if not chosen:
        raise _no_members(archive, others)
    _check(archive, chosen)
    return Members(tuple(sorted((_member(archive, info) for info in chosen), key=lambda file: file.name)), others)


@dataclass(frozen=True, slots=True)
class WithMembers:
    """Opens listed files of a store, and members of its archives."""

    inner: FileStore

    @property
    def waits(self) -> bool:
        return self.inner.waits

    @contextmanager
    def open(self, file: SourceFile) -> Iterator[BinaryIO]:
        """Raises InvalidContent `source.malformed` for a damaged member, also while it is read."""
        with self.inner.open(file.stored) as stream:
            yield open_member(stream, file)


def open_member(stream: BinaryIO, file: SourceFile, *, closes: bool = False) -> BinaryIO:
    """Return the unpacked bytes of a member of an open archive, or the stream of another file. With `closes`, closing
    them closes the archive. Raises InvalidContent `source.malformed`."""
    return stream if file.member is None else cast(BinaryIO, _MemberStream(stream, file, file.member, closes))


class _MemberStream(Seekable):
    """The unpacked bytes of a member. Its size and its checksum are compared with the directory at its end. It can
    seek, but to read a later part unpacks what is before it."""

    def __init__(self, archive: BinaryIO, file: SourceFile, member: ArchiveMember, closes: bool) -> None:
        super().__init__(file.size)
        self._archive, self._file, self._closes = archive, file, closes
        self._info = ZipInfo()
        self._info.compress_type, self._info.compress_size = member.method, member.stored_size
        self._info.CRC = member.crc
        # One byte more than the directory says, so that the library does not hide bytes beyond the end.
        self._info.file_size = file.size + 1
        self._start = self._after_header(member.offset)
        self._rewind()

    def _after_header(self, offset: int) -> int:
        self._archive.seek(offset)
        header = self._archive.read(_LOCAL_HEADER.size)
        if len(header) != _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
            raise _malformed(self._file.name, "its offset in the archive has no local header")
        _, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        return offset + len(header) + int(name_length) + int(extra_length)

    def _rewind(self) -> None:
        self._archive.seek(self._start)
        self._inner, self.at = ZipExtFile(self._archive, "r", self._info), 0

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        to = min(self.position(offset, whence), self.size)
        if to < self.at:
            self._rewind()
        while self.at < to:
            self.read(min(to - self.at, BLOCK_BYTES))
        return to

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self.end_of(size) - self.at
        with _reading(self._file.name):
            data = self._inner.read(wanted)
            self.at += len(data)
            surplus = self._inner.read(1) if self.at == self.size else b""
        if len(data) != wanted or surplus:
            raise _malformed(self._file.name, f"it does not have the {self._file.size:,} bytes of its directory")
        return data

    def close(self) -> None:
        if self._closes:
            self._archive.close()
        super().close()


class _Bounded(io.RawIOBase):
    """A stream of which only a limited number of bytes can be read."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._name, self._left = stream, name, MOST_DIRECTORY_BYTES

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence == io.SEEK_SET and offset < 0:
            raise BadZipFile("the directory begins before the archive")
        return self._stream.seek(offset, whence)

    def read(self, size: int | None = -1, /) -> bytes:
        data = self._stream.read(self._left + 1 if size is None or size < 0 else min(size, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise _too_many(self._name)
        return data


def _read_directory(stream: BinaryIO, archive: SourceFile) -> list[ZipInfo]:
    """Return the entries of an archive that are no directories."""
    bounded = cast(BinaryIO, _Bounded(stream, archive.name))
    with _reading(archive.name), ZipFile(bounded) as opened:
        infos, end = opened.infolist(), opened.start_dir
    if len(infos) > MOST_MEMBERS:
        raise _too_many(archive.name)
    places = sorted((info.header_offset, info.compress_size) for info in infos)
    for (offset, size), (following, _) in pairwise([*places, (end, 0)]):
        if offset < 0 or offset + _LOCAL_HEADER.size + size > following:
            raise _malformed(archive.name, "its members overlap")
    return [info for info in infos if not info.is_dir()]


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Translate the errors of the library."""
    try:
        yield
    except _DAMAGES as error:
        raise _malformed(name, str(error) or type(error).__name__) from error


def _check(archive: SourceFile, infos: Sequence[ZipInfo]) -> None:
    """Raises InvalidContent for members that cannot be read."""
    labels: set[str] = set()
    for info in infos:
        label = _label(info)
        if fault := _fault_of_name(label, labels):
            _refuse_name(archive.name, label, fault)
        labels.add(label)
        shown = f"{archive.name}/{label}"
        if info.flag_bits & _ENCRYPTED:
            raise InvalidContent(
                "source.encrypted", f"{shown} is encrypted.", hint="Send the archive without a password."
            )
        if info.compress_type not in _METHODS:
            raise InvalidContent(
                "source.method_unsupported",
                f"{shown} is compressed by the method {info.compress_type}.",
                hint=f"Pack it with the usual method, deflate. Flow reads {' and '.join(_METHODS.values())}.",
            )
        if stat.S_ISLNK(info.external_attr >> 16):
            raise _malformed(shown, "it is a link")
    _refuse_expansion(archive, sum(info.file_size for info in infos))


def _refuse_expansion(archive: SourceFile, size: int) -> None:
    if size <= FREE_BYTES or (size <= MOST_RATIO * archive.size and size <= MOST_EXPANDED_BYTES):
        return
    raise InvalidContent(
        "source.expands_too_much",
        f"{archive.name} expands too much: {size >> 20:,} MB in {archive.size / (1 << 20):,.1f} MB.",
        hint=f"Split the archive. One may hold {MOST_EXPANDED_BYTES >> 30} GB, and above {FREE_BYTES >> 30} GB at most "
        f"{MOST_RATIO} times its size.",
    )


def _fault_of_name(label: str, seen: set[str]) -> str:
    if label in seen:
        return "two members have this name"
    if len(label) > MOST_NAME:
        return f"it has more than {MOST_NAME} characters"
    if _ABSOLUTE.match(label):
        return "it begins at the root of a disk"
    return "it leads out of the archive" if ".." in label.split("/") else ""


def _refuse_name(archive: str, label: str, fault: str) -> NoReturn:
    raise InvalidContent(
        "source.member_name",
        f"{archive} has a member with an unusable name, {label[:200]!r}: {fault}.",
        hint="Pack the archive again, with relative names that differ.",
    )


def _member(archive: SourceFile, info: ZipInfo) -> SourceFile:
    label = _label(info)
    return replace(
        archive,
        path=f"{archive.path}/{label}",
        name=f"{archive.name}/{label}",
        size=info.file_size,
        inode=None,
        ctime_ns=None,
        version=None,
        fingerprint="",
        member=ArchiveMember(archive, info.header_offset, info.compress_size, info.compress_type, info.CRC),
    )


def _label(info: ZipInfo) -> str:
    """Return the name with slashes, also from programs that write backslashes."""
    return info.filename.replace("\\", "/")


def _last_part(label: str) -> str:
    return label.rpartition("/")[2]


def _is_hidden(info: ZipInfo) -> bool:
    label = _label(info)
    return label.endswith("/") or label.startswith("__MACOSX/") or _last_part(label).startswith(".")


def _malformed(name: str, why: str) -> InvalidContent:
    return InvalidContent("source.malformed", f"{name} cannot be unpacked with ZIP: {why}.", hint=_SEND_HINT)


def _too_many(name: str) -> InvalidContent:
    return InvalidContent(
        "source.too_many_members",
        f"{name} has more than {MOST_MEMBERS:,} members, or its directory more than {MOST_DIRECTORY_BYTES >> 20} MB.",
        hint="Split the archive.",
    )


def _no_members(archive: SourceFile, others: Sequence[str]) -> InvalidContent:
    """Return the refusal of an archive without a matching member."""
    holds = f"It has {', '.join(others[:3])}." if others else "It is empty."
    return InvalidContent(
        "source.no_members",
        f"No file in {archive.name} matches. {holds}",
        hint="Send the archive again, or set members in the source to a pattern that its files match.",
    )
