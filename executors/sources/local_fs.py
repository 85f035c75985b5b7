"""`local_fs`: files in one folder of the workspace. No path, not even through a link, leaves the workspace's folder."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from executors.errors import Terminal, Transient
from executors.formats.files import LOCAL_FILES, FileStore
from executors.model import SourceFile
from executors.sources.base import FileSource, SourceContext
from executors.sources.claim_folders import ClaimFolder
from executors.sources.moving import in_folder, move_if_free, move_to_first_free, second_name, take, with_suffix
from ir.connectors import config_of
from ir.connectors.files import Atomicity
from ir.connectors.local_fs import LocalFsConfig
from ir.nodes import Source
from ir.patterns import compile_pattern, expand_tokens, without_tokens
from ir.timezones import timezone


class LocalFs(FileSource):
    """Files of one source node.

    With `atomicity`, a file is claimed by moving it into a folder of the attempt below the staging folder, whose name
    contains pipeline, source, fence token and run. Claims of other pipelines are ignored. Claims of earlier attempts of
    this pipeline are listed and taken over: the fence prevents such an attempt from loading anything. Without
    `atomicity`, files are read in place and never moved. Subfolders of `path` are not searched.
    """

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        self._config = config_of(source, LocalFsConfig)
        self._root = context.folder.resolve()
        self._path = self._inside(self._root / self._config.path)
        self._prefix = str(Path(self._config.path) / "_")[:-1]

    @property
    def store(self) -> FileStore:
        return LOCAL_FILES

    def find_files(self, now: float) -> Iterator[SourceFile]:
        """Raises Terminal if the path is missing, or a matching name leads outside the workspace's folder."""
        matches = compile_pattern(self._config.pattern, datetime.fromtimestamp(now, UTC))
        for folder in self._folders():
            real = self._inside(folder)
            for entry in self._entries(folder):
                if matches(entry) and (file := self._file(real, entry)) is not None:
                    yield file

    def few_files(self, most: int) -> tuple[SourceFile, ...] | None:
        with os.scandir(self._path) as entries:
            few = list(islice(entries, most + 1))
        if len(few) > most:
            return None
        matches = compile_pattern(self._config.pattern, datetime.now(UTC))
        names = [entry.name for entry in few if matches(entry.name) and entry.is_file(follow_symlinks=False)]
        return tuple(filter(None, (self._file(self._path, name) for name in names)))

    def list_claimed(self, now: float) -> tuple[SourceFile, ...]:
        return tuple(file for file in self.find_files(now) if self._is_staged(Path(file.path)))

    def claimed_by(self, now: float) -> tuple[str, ...]:
        matches = compile_pattern(self._config.pattern, datetime.fromtimestamp(now, UTC))
        owners = {
            claims.pipeline
            for folder, claims in self._claims()
            if claims.pipeline != self.context.claimant.pipeline and any(map(matches, self._entries(folder)))
        }
        return tuple(sorted(owners))

    def claim(self, file: SourceFile) -> SourceFile | None:
        """Raises Transient `source.changed` if the file is not what was listed."""
        atomicity = self._config.atomicity
        if atomicity is None:
            return file
        for folder in (atomicity.staging_folder, atomicity.success_folder, atomicity.failure_folder):
            self._expanded(folder)
        own, path = self._own_claims(atomicity), Path(file.path)
        taken = path if path.is_relative_to(own) else take(path, in_folder(own, path.name))
        if taken is None:
            return None
        self._tidy(path.parent)
        now = SourceFile.found(file.seq, str(taken), file.name, taken.stat())
        if not replace(file, ctime_ns=None).is_same(now):
            raise Transient(
                "source.changed",
                f"{file.name} changed after it was listed.",
                hint="Write files under another name and rename them when complete, or increase settleSeconds.",
                node=self.node,
            )
        return now

    def archive(self, file: SourceFile, succeeded: bool) -> None:
        """Move a claimed file to the success or failure folder, with a suffix if its name exists there."""
        atomicity, path = self._config.atomicity, Path(file.path)
        if atomicity is None:
            return
        folder = atomicity.success_folder if succeeded else atomicity.failure_folder
        if second_name(path, self._inside(self._path / without_tokens(folder))):
            path.unlink()  # an attempt on another day has archived it, and ended before it removed this name
        else:
            move_to_first_free(path, with_suffix(self._expanded(folder), path.name))
        self._tidy(path.parent)

    def requeue(self, file: SourceFile) -> None:
        """Move a claimed file back to its original folder. If a new file has its name there, it stays claimed."""
        path = Path(file.path)
        if self._is_staged(path) and move_if_free(path, self._path / path.name):
            self._tidy(path.parent)

    def _tidy(self, folder: Path) -> None:
        """Remove empty folders of claims."""
        with suppress(OSError):
            while self._is_staged(folder):
                folder.rmdir()
                folder = folder.parent

    # --- folders ----------------------------------------------------------------------------------------------

    def _inside(self, path: Path) -> Path:
        return inside(self._root, path, self.node)

    def _expanded(self, folder: str) -> Path:
        moment = datetime.now(timezone(self._config.pattern.timezone))
        return self._inside(self._path / expand_tokens(folder, moment))

    def _staging(self, atomicity: Atomicity) -> Path:
        return self._inside(self._path / atomicity.staging_folder)

    def _is_staged(self, path: Path) -> bool:
        atomicity = self._config.atomicity
        return atomicity is not None and self._staging(atomicity) in path.parents

    def _own_claims(self, atomicity: Atomicity) -> Path:
        return self._inside(self._staging(atomicity) / ClaimFolder.of(self.context.claimant, self.node).name)

    def _claims(self) -> Iterator[tuple[Path, ClaimFolder]]:
        """Yield every folder of claimed files, of any claimant."""
        if self._config.atomicity is not None:
            staging = self._staging(self._config.atomicity)
            for name in self._entries(staging):
                if (claims := ClaimFolder.parse(name)) is not None:
                    yield staging / name, claims

    # --- listing ----------------------------------------------------------------------------------------------

    def _folders(self) -> Iterator[Path]:
        yield self._path
        for folder, claims in self._claims():
            if self.context.claimant.may_take_over(self.node, claims.pipeline, claims.source, claims.token):
                yield from self._with_numbered(folder)

    def _with_numbered(self, folder: Path) -> Iterator[Path]:
        yield folder
        yield from (folder / name for name in self._entries(folder) if name.isdecimal())

    def _entries(self, folder: Path) -> list[str]:
        if not folder.is_dir():
            if folder != self._path:
                return []
            raise Terminal(
                "source.path_missing",
                f"The folder {self._config.path!r} does not exist in the workspace's folder.",
                hint="Create it, or correct the source's path.",
                node=self.node,
            )
        try:
            return os.listdir(folder)
        except PermissionError as error:
            raise Terminal(
                "source.unreadable",
                f"The folder {self._config.path!r} cannot be listed: {error.strerror}.",
                hint="Give the worker's user read permission.",
                node=self.node,
            ) from error

    def _file(self, folder: Path, name: str) -> SourceFile | None:
        """Return a regular file of a folder without links, possibly behind a link itself, if it still exists."""
        path = f"{folder}/{name}"
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                path = self._behind(Path(path))
                status = os.stat(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:  # links that form a loop have no file
                return None
            raise
        if not stat.S_ISREG(status.st_mode):
            return None
        return SourceFile.found(0, path, self._shown(name), status)

    def _behind(self, link: Path) -> str:
        """Return the path to which a link leads."""
        if self._config.atomicity is not None:
            raise Terminal(
                "source.link_not_movable",
                f"{self._shown(link.name)} is a link. Files that are moved when claimed cannot be links.",
                hint="Put the file into the source's path, or remove atomicity.",
                node=self.node,
            )
        return str(self._inside(link))

    def _shown(self, name: str) -> str:
        return os.fsencode(f"{self._prefix}{name}").decode("utf-8", "backslashreplace")


def inside(root: Path, path: Path, node: str) -> Path:
    """Return the path with links resolved. Raises Terminal if it is outside the workspace's folder `root`."""
    real = Path(os.path.realpath(path))  # unlike `resolve`, it accepts links that form a loop
    if not real.is_relative_to(root):
        raise Terminal(
            "source.path_outside",
            f"{path.relative_to(root)} leads outside the workspace's folder.",
            hint="Put files into the workspace's folder. Links must not lead outside it.",
            node=node,
        )
    return real
