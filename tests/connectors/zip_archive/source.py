"""What a run does with the connector `zip_archive`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

from executors.errors import Terminal
from executors.formats.files import changed
from executors.model import SourceFile
from executors.sources.base import FileSource
from ir.patterns import compile_pattern


@dataclass(frozen=True, slots=True)
class ZipMembers:
    """Opens members of an archive. Plain data, for it goes to Spark's tasks."""

    archive: str

    @contextmanager
    def open(self, file: SourceFile) -> Iterator[BinaryIO]:
        try:
            with ZipFile(self.archive) as archive:
                member = archive.getinfo(file.path)
                if not file.is_same(_found(member, file.name)):
                    raise changed(file, "changed after it was listed")
                with archive.open(member) as stream:
                    yield cast(BinaryIO, stream)
        except (FileNotFoundError, KeyError) as error:
            raise changed(file, "was deleted") from error
        except BadZipFile as error:
            raise changed(file, "changed while it was read") from error


class ZipArchive(FileSource):
    """The files of one source node."""

    @property
    def store(self) -> ZipMembers:
        return ZipMembers(str(self.context.folder / self.config.path))

    def find_files(self, now: float) -> Iterator[SourceFile]:
        matches = compile_pattern(self.config.pattern, datetime.fromtimestamp(now, UTC))
        try:
            with ZipFile(self.store.archive) as archive:
                for member in archive.infolist():
                    if not member.is_dir() and matches(Path(member.filename).name):
                        yield _found(member, f"{self.config.path}/{member.filename}")
        except (FileNotFoundError, BadZipFile) as error:
            raise Terminal(
                "source.path_missing",
                f"There is no ZIP archive {self.config.path!r} in the workspace's folder.",
                hint="Put it there, or correct the source's path.",
                node=self.node,
            ) from error


def _found(member: ZipInfo, name: str) -> SourceFile:
    """The checksum tells two contents of one size apart, which a time in steps of two seconds does not."""
    modified = int(datetime(*member.date_time, tzinfo=UTC).timestamp()) * 10**9
    return SourceFile(0, member.filename, name, member.file_size, modified, version=f"{member.CRC:08x}")
