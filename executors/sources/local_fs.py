"""`local_fs`: files in one folder of the workspace. Nothing here, links included, leads out of that workspace."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from executors.errors import Terminal
from executors.model import SourceFile
from executors.sources import ArrivedWhole, Listing
from executors.sources.moving import in_folder, move_to_first_free, with_suffix
from ir.connectors import typed_config
from ir.connectors.local_fs import Atomicity
from ir.nodes import Source
from ir.patterns import compile_pattern, expand_tokens
from ir.timezones import timezone


class LocalFs:
    """Files of one source node; `folder` is the workspace's.

    With `atomicity` a file is claimed by moving it into the staging folder. What a dead attempt left there is listed
    again. Without it files are read in place and never moved. Folders below `path` are not searched.
    """

    def __init__(self, source: Source, folder: Path) -> None:
        self._node = source.id
        self._config = typed_config(source)
        self._root = folder.resolve()
        self._path = self._inside(self._root / self._config.path)

    def list_files(self, now: float, arrived_whole: ArrivedWhole) -> Listing:
        """Raises Terminal if the path is missing, or a matching name leads out of the workspace's folder."""
        found = sorted(self._matching(now), key=lambda file: (Path(file.name).name, file.path))
        young = [file for file in found if not self._is_settled(file, now)]
        whole = arrived_whole(young) if young else ()
        growing = {file.path: file.name for file in young if file.path not in whole}
        settled = [file for file in found if file.path not in growing]
        if self._config.ordering == "latest_by_mtime":
            settled = sorted(settled, key=lambda file: file.mtime_ns)[-1:]
        files = tuple(_numbered(seq, file) for seq, file in enumerate(settled))
        return Listing(files, tuple(growing.values()))

    def list_claimed(self, now: float) -> tuple[SourceFile, ...]:
        return tuple(file for file in self._matching(now) if self._is_staged(Path(file.path)))

    def claim(self, file: SourceFile) -> SourceFile:
        atomicity, path = self._config.atomicity, Path(file.path)
        if atomicity is None or self._is_staged(path):
            return file
        for folder in (atomicity.staging_folder, atomicity.success_folder, atomicity.failure_folder):
            self._expanded(folder)
        path = move_to_first_free(path, in_folder(self._staging(atomicity), path.name))
        now = path.stat()
        return SourceFile(file.seq, str(path), file.name, now.st_size, now.st_mtime_ns)

    def finish(self, file: SourceFile, succeeded: bool) -> None:
        """Move a claimed file into the success or failure folder, next to any file of its name."""
        atomicity, path = self._config.atomicity, Path(file.path)
        if atomicity is None:
            return
        folder = self._expanded(atomicity.success_folder if succeeded else atomicity.failure_folder)
        move_to_first_free(path, with_suffix(folder, path.name))
        if path.parent != self._staging(atomicity):
            with suppress(OSError):
                path.parent.rmdir()

    # --- folders ----------------------------------------------------------------------------------------------

    def _inside(self, path: Path) -> Path:
        """The real path behind links; raises Terminal if it lies outside the workspace's folder."""
        real = path.resolve()
        if not real.is_relative_to(self._root):
            raise Terminal(
                "source.path_outside",
                f"{path.relative_to(self._root)} leads out of the workspace's folder.",
                hint="Put files into the workspace's folder itself; links must not lead out of it.",
                node=self._node,
            )
        return real

    def _expanded(self, folder: str) -> Path:
        moment = datetime.now(timezone(self._config.pattern.timezone))
        return self._inside(self._path / expand_tokens(folder, moment))

    def _staging(self, atomicity: Atomicity) -> Path:
        return self._inside(self._path / atomicity.staging_folder)

    def _is_staged(self, path: Path) -> bool:
        atomicity = self._config.atomicity
        return atomicity is not None and path.is_relative_to(self._staging(atomicity))

    # --- listing ----------------------------------------------------------------------------------------------

    def _matching(self, now: float) -> Iterator[SourceFile]:
        matches = compile_pattern(self._config.pattern, datetime.fromtimestamp(now, UTC))
        for folder in self._folders():
            for entry in self._entries(folder):
                if matches(entry) and (file := self._file(folder / entry)) is not None:
                    yield file

    def _folders(self) -> Iterator[Path]:
        yield self._path
        if self._config.atomicity is not None:
            staging = self._staging(self._config.atomicity)
            if staging.is_dir():
                yield staging
                yield from (staging / name for name in self._entries(staging) if name.isdecimal())

    def _entries(self, folder: Path) -> list[str]:
        if not folder.is_dir():
            if folder != self._path:
                return []
            raise Terminal(
                "source.path_missing",
                f"The folder {self._config.path!r} does not exist in the workspace's folder.",
                hint="Create it, or correct the source's path.",
                node=self._node,
            )
        try:
            return os.listdir(folder)
        except PermissionError as error:
            raise Terminal(
                "source.unreadable",
                f"The folder {self._config.path!r} cannot be listed: {error.strerror}.",
                hint="Give the user that runs the worker the right to read it.",
                node=self._node,
            ) from error

    def _file(self, entry: Path) -> SourceFile | None:
        """A regular file, behind a link too, that still exists."""
        real = self._inside(entry)
        shown = os.fsencode(Path(self._config.path) / entry.name).decode("utf-8", "backslashreplace")
        if self._config.atomicity is not None and entry.is_symlink():
            raise Terminal(
                "source.link_not_movable",
                f"{shown} is a link; files that are moved when they are claimed cannot be links.",
                hint="Put the file itself into the source's path, or leave atomicity out.",
                node=self._node,
            )
        try:
            status = real.stat()
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return SourceFile(0, str(real), shown, status.st_size, status.st_mtime_ns)

    def _is_settled(self, file: SourceFile, now: float) -> bool:
        """Whether size and time have stood still long enough. A claimed file was, and so is one dated ahead."""
        age = now - file.mtime_ns / 1e9
        return self._is_staged(Path(file.path)) or not 0 <= age < self._config.wait_policy.settle_seconds


def _numbered(seq: int, file: SourceFile) -> SourceFile:
    return SourceFile(seq, file.path, file.name, file.size, file.mtime_ns)
