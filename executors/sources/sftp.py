"""`sftp`: files in one folder of an SFTP server.

With `atomicity`, a file is claimed by one rename into a folder of the attempt, as by `local_fs`. The name of that
folder also contains the workspace, because several workspaces can read one server.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import cast

from executors.errors import Terminal
from executors.formats.files import changed
from executors.model import SourceFile
from executors.secrets import encrypt_store
from executors.sources.base import FileSource, SourceContext
from executors.sources.claim_folders import ClaimFolder
from executors.sources.moving import in_folder, with_suffix
from executors.sources.object_store import as_prefix
from executors.stores import open_encrypted
from executors.stores.base import Entry
from executors.stores.files import StoreFiles
from executors.stores.sftp import SftpStore, not_exclusive, printable
from ir.connectors import config_of
from ir.connectors.sftp import SftpConfig
from ir.nodes import Source
from ir.patterns import compile_pattern, expand_tokens
from ir.timezones import timezone


class SftpFiles(FileSource):
    """The files of one source node. Subfolders of `path` are not searched."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        self._config = config_of(source, SftpConfig)
        self._folder = as_prefix(self._config.path)
        self._made: set[str] = set()
        self._is_exclusive = False

    @cached_property
    def store(self) -> StoreFiles:
        if self.context.store is None:
            raise Terminal(
                "source.connection_missing",
                "The source has no connection.",
                hint="Choose a stored connection.",
                node=self.node,
            )
        return StoreFiles(encrypt_store(self.context.store))

    @cached_property
    def _client(self) -> SftpStore:
        return cast(SftpStore, open_encrypted(self.store.encrypted))

    # --- listing ----------------------------------------------------------------------------------------------

    def find_files(self, now: float) -> Iterator[SourceFile]:
        """Raises Terminal if the folder is missing, or a matching name leads outside the connection's folder."""
        if not self._client.has_folder(self._folder):
            raise Terminal(
                "source.path_missing",
                f"The folder {self._config.path!r} does not exist on the server.",
                hint="Create it, or correct the source's path.",
                node=self.node,
            )
        yield from self._files(self._folder, now)
        for folder, claims in self._claims():
            if self._may_take_over(claims):
                yield from self._claimed_files(folder, now)

    def list_claimed(self, now: float) -> tuple[SourceFile, ...]:
        own = [folder for folder, claims in self._claims() if self._may_take_over(claims)]
        return tuple(file for folder in own for file in self._claimed_files(folder, now))

    def claimed_by(self, now: float) -> tuple[str, ...]:
        who, others = self.context.claimant, set()
        for folder, claims in self._claims():
            is_other = (claims.tenant, claims.pipeline) != (who.tenant, who.pipeline)
            if is_other and any(self._files(folder, now)):
                others.add(claims.pipeline + ("" if claims.tenant == who.tenant else " of another workspace"))
        return tuple(sorted(others))

    def _files(self, folder: str, now: float) -> Iterator[SourceFile]:
        matches = compile_pattern(self._config.pattern, datetime.fromtimestamp(now, UTC))
        for entry in self._client.list(folder):
            if not entry.is_folder and matches(entry.name) and (file := self._file(entry)) is not None:
                yield file

    def _claimed_files(self, folder: str, now: float) -> Iterator[SourceFile]:
        """Yield the files of a folder of claims, and of those below it for files with the same name."""
        yield from self._files(folder, now)
        for entry in self._client.list(folder):
            if entry.is_folder and entry.name.isdecimal():
                yield from self._files(entry.path, now)

    def _file(self, entry: Entry) -> SourceFile | None:
        """Return a regular file, possibly behind a link, if it still exists."""
        name = printable(f"{self._folder}{entry.name}")
        if not entry.is_link:
            return entry.as_file(name)
        if self._config.atomicity is not None:
            raise Terminal(
                "source.link_not_movable",
                f"{name} is a link. Files that are moved when claimed cannot be links.",
                hint="Put the file into the source's path, or remove atomicity.",
                node=self.node,
            )
        found = self._client.stat(entry.path)
        return found.as_file(name) if found is not None else None

    # --- claims -----------------------------------------------------------------------------------------------

    def claim(self, file: SourceFile) -> SourceFile | None:
        """Raises Transient `source.changed` if the file is not what was listed."""
        if self._config.atomicity is None:
            return file
        own = f"{self._staging}{ClaimFolder.of(self.context.claimant, self.node, self.context.claimant.tenant).name}/"
        taken = file.path if file.path.startswith(own) else self._take(file, own)
        if taken is None:
            return None
        now = self._client.stat(taken)
        if now is None:
            raise changed(file, "is no longer claimed by this run")
        if not file.is_same(now.as_file(file.name)):
            raise changed(file, "changed after it was listed")
        return replace(file, path=taken)

    def _take(self, file: SourceFile, own: str) -> str | None:
        self._require_exclusive()
        for candidate in map(str, in_folder(Path(own), _name_of(file))):
            if self._client.exists(candidate):
                continue
            self._make_folder(candidate)
            if not self._client.take(file.path, candidate):
                return None
            self._tidy(file.path)
            return candidate
        raise AssertionError("candidates never end")

    def requeue(self, file: SourceFile) -> None:
        """Move a claimed file back to its original folder. If a new file has its name there, it stays claimed."""
        if self._is_staged(file.path) and self._client.move_if_free(file.path, self._folder + _name_of(file)):
            self._tidy(file.path)

    def archive(self, file: SourceFile, succeeded: bool) -> None:
        """Move a claimed file to the success or failure folder, with a suffix if its name exists there."""
        atomicity = self._config.atomicity
        if atomicity is None:
            return
        moment = datetime.now(timezone(self._config.pattern.timezone))
        folder = expand_tokens(atomicity.success_folder if succeeded else atomicity.failure_folder, moment)
        for candidate in map(str, with_suffix(Path(self._folder + as_prefix(folder)), _name_of(file))):
            self._make_folder(candidate)
            if self._client.move_if_free(file.path, candidate):
                break
        self._tidy(file.path)

    def _require_exclusive(self) -> None:
        """Refuse servers on which two runs could claim one file. Raises Terminal `source.not_exclusive`."""
        if self._is_exclusive:
            return
        self._make_folder(self._staging)
        if not self._client.moves_exclusively(self._staging):
            raise not_exclusive(self._client.name)
        self._is_exclusive = True

    def _make_folder(self, path: str) -> None:
        """Make the folder of a path, once."""
        folder = path.rpartition("/")[0]
        if folder and folder not in self._made:
            self._client.make_folder(folder)
            self._made.add(folder)

    def _tidy(self, path: str) -> None:
        """Remove empty folders of claims above a path."""
        folder = path.rpartition("/")[0]
        while self._is_staged(folder) and self._client.remove_folder(folder):
            self._made.discard(folder)
            folder = folder.rpartition("/")[0]

    # --- folders of claims ------------------------------------------------------------------------------------

    @cached_property
    def _staging(self) -> str:
        """The staging folder; empty if files are read in place."""
        atomicity = self._config.atomicity
        return self._folder + as_prefix(atomicity.staging_folder) if atomicity is not None else ""

    def _is_staged(self, path: str) -> bool:
        return bool(self._staging) and path.startswith(self._staging)

    def _claims(self) -> Iterator[tuple[str, ClaimFolder]]:
        """Yield every folder of claimed files, of any claimant."""
        if not self._staging or not self._client.has_folder(self._staging):
            return
        for entry in self._client.list(self._staging):
            if entry.is_folder and (claims := ClaimFolder.parse(entry.name)) is not None:
                yield entry.path, claims

    def _may_take_over(self, claims: ClaimFolder) -> bool:
        who = self.context.claimant
        is_ours = claims.tenant == who.tenant
        return is_ours and who.may_take_over(self.node, claims.pipeline, claims.source, claims.token)


def _name_of(file: SourceFile) -> str:
    return file.path.rpartition("/")[2]
