"""What a run does with the connector `tar_archive`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tarfile import ReadError, TarFile, TarInfo
from typing import BinaryIO, ClassVar, cast

from executors.errors import Terminal
from executors.formats.files import changed
from executors.model import SourceFile
from executors.sources.base import FileSource
from ir.patterns import compile_pattern


@dataclass(frozen=True, slots=True)
class TarMembers:
    """Opens members of an archive. Plain data, for it goes to Spark's tasks."""

    archive: str
    waits: ClassVar[bool] = False

    @contextmanager
    def open(self, file: SourceFile) -> Iterator[BinaryIO]:
        try:
            with TarFile(self.archive) as archive:
                member = archive.getmember(file.path)
                if not file.is_same(_found(member, file.name)):
                    raise changed(file, "changed after it was listed")
                with cast(BinaryIO, archive.extractfile(member)) as stream:
                    yield stream
        except (FileNotFoundError, KeyError) as error:
            raise changed(file, "was deleted") from error
        except ReadError as error:
            raise changed(file, "changed while it was read") from error


class TarArchive(FileSource):
    """The files of one source node."""

    @property
    def store(self) -> TarMembers:
        return TarMembers(str(self.context.folder / self.config.path))

    def find_files(self, now: float) -> Iterator[SourceFile]:
        matches = compile_pattern(self.config.pattern, datetime.fromtimestamp(now, UTC))
        try:
            with TarFile(self.store.archive) as archive:
                for member in archive:
                    if member.isfile() and matches(Path(member.name).name):
                        yield _found(member, f"{self.config.path}/{member.name}")
        except (FileNotFoundError, ReadError) as error:
            raise Terminal(
                "source.path_missing",
                f"There is no TAR archive {self.config.path!r} in the workspace's folder.",
                hint="Put it there, or correct the source's path.",
                node=self.node,
            ) from error


def _found(member: TarInfo, name: str) -> SourceFile:
    return SourceFile(0, member.name, name, member.size, int(member.mtime * 1e9))
