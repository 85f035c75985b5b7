"""Objects of a bucket or container: files of one folder, read where they are.

With `atomicity`, a claim is an object that is created only if it does not exist (`executors.stores.claims`). The file
itself stays in its place until its load has ended; then it is copied to the archive and deleted. Every step can be
repeated after a crash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import cast

from executors.errors import Terminal, Transient
from executors.formats.files import changed
from executors.model import SourceFile
from executors.secrets import encrypt_store
from executors.sources.base import FileSource, SourceContext
from executors.sources.moving import with_suffix
from executors.stores import open_encrypted
from executors.stores.base import Entry, WritableStore
from executors.stores.claims import Claim, Claims
from executors.stores.failures import name_unusable
from executors.stores.files import StoreFiles
from ir.connectors import config_of
from ir.connectors.objects import ObjectsConfig
from ir.nodes import Source
from ir.patterns import compile_pattern, expand_tokens, without_tokens
from ir.timezones import timezone


class ObjectStore(FileSource):
    """The objects of one source node. Objects below subfolders of `path` are not searched."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        self._config = config_of(source, ObjectsConfig)
        self._folder = as_prefix(self._config.path)

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
    def _client(self) -> WritableStore:
        return cast(WritableStore, open_encrypted(self.store.encrypted))

    @cached_property
    def _store_hash(self) -> hashlib._Hash:
        """The beginning of the fingerprint of every file."""
        store = self.context.store
        return hashlib.sha256(json.dumps(store and [store.kind, store.settings], sort_keys=True).encode())

    @cached_property
    def _claims(self) -> Claims:
        return Claims(self._client, self._folder, self.node, self.context.claimant)

    # --- listing ----------------------------------------------------------------------------------------------

    def find_files(self, now: float) -> Iterator[SourceFile]:
        foreign = {name for name, claim in self._claimed(now) if not self._claims.may_take_over(claim)}
        for entry in self._matching(now):
            if entry.name not in foreign:
                yield self._file(entry)

    def _file(self, entry: Entry) -> SourceFile:
        """Return an object with a fingerprint: every write gives it another version."""
        if entry.version is None or self.context.store is None:
            return entry.as_file(entry.path)
        identity = self._store_hash.copy()
        identity.update(json.dumps([entry.path, entry.version, entry.size]).encode())
        return entry.as_file(entry.path, identity.hexdigest())

    def list_claimed(self, now: float) -> tuple[SourceFile, ...]:
        own = [name for name, claim in self._claimed(now) if self._claims.may_take_over(claim)]
        entries = (self._client.stat(self._folder + name) for name in own)
        return tuple(entry.as_file(entry.path) for entry in entries if entry is not None)

    def claimed_by(self, now: float) -> tuple[str, ...]:
        who = self.context.claimant
        others = {(claim.tenant, claim.pipeline) for _, claim in self._claimed(now)} - {(who.tenant, who.pipeline)}
        return tuple(sorted(name if of == who.tenant else f"{name} of another workspace" for of, name in others))

    def _matching(self, now: float) -> Iterator[Entry]:
        matches = compile_pattern(self._config.pattern, datetime.fromtimestamp(now, UTC))
        for entry in self._client.list(self._folder):
            if not entry.is_folder and matches(entry.name):
                if not self._client.is_exact(entry.path):
                    raise name_unusable(self._client.name, entry.path)
                yield entry

    def _claimed(self, now: float) -> Iterator[tuple[str, Claim]]:
        """Yield the matching claimed files with their claims."""
        if self._config.atomicity is None:
            return
        matches = compile_pattern(self._config.pattern, datetime.fromtimestamp(now, UTC))
        for name in self._claims.names():
            if matches(name) and (claim := self._claims.get(name)) is not None:
                yield name, claim

    # --- claims -----------------------------------------------------------------------------------------------

    def claim(self, file: SourceFile) -> SourceFile | None:
        """Raises Transient `source.changed` if the file is not what was listed."""
        if self._config.atomicity is None:
            return file
        name = _name_of(file)
        if not self._claims.take(name, file.version):
            return None
        now = self._client.stat(file.path)
        if now is None:  # the claimant before has archived it
            self._claims.release(name)
            return None
        if not file.is_same(now.as_file(file.name)):
            self._claims.release(name)
            raise changed(file, "changed after it was listed")
        return file

    def requeue(self, file: SourceFile) -> None:
        """Release the claim. The file was not moved."""
        name = _name_of(file)
        if self._config.atomicity is None or (claim := self._claims.get(name)) is None:
            return
        if self._claims.may_take_over(claim):
            self._claims.release(name)

    def archive(self, file: SourceFile, succeeded: bool) -> None:
        """Copy a claimed file to the success or failure folder, with a suffix if its name exists there, then delete it
        and its claim."""
        atomicity, name = self._config.atomicity, _name_of(file)
        if atomicity is None:
            return
        claim = self._claims.get(name)
        if claim is None or not self._claims.may_take_over(claim):
            raise self._not_ours(file)
        if (now := self._client.stat(file.path)) is not None:
            self._require_same(file, now)
            claim = self._pinned(file, claim, atomicity.success_folder if succeeded else atomicity.failure_folder)
            to = self._reserve(claim.to, file) if claim.to.endswith("/") else claim.to
            if not self._claims.record_destination(name, claim, to):
                raise self._not_ours(file)
            self._client.copy(now, to)
            # The last look before the file is deleted: an object that was written meanwhile stays.
            self._require_same(file, self._client.stat(file.path))
            self._client.delete(file.path)
        elif not claim.to:
            self._claims.release(name)
            raise changed(file, "was deleted")
        self._claims.release(name)

    def _pinned(self, file: SourceFile, claim: Claim, folder: str) -> Claim:
        """Return the claim with the folder that the file is archived to, or with its path there. A folder with a date
        is stored first, so that an attempt on another day finds what this one has reserved."""
        if claim.to:
            return claim
        to = self._expanded(folder)
        if without_tokens(folder) == folder:
            return replace(claim, to=to)
        pinned = None
        if self._claims.record_destination(_name_of(file), claim, to):
            pinned = self._claims.get(_name_of(file))
        if pinned is None:
            raise self._not_ours(file)
        return pinned

    def _reserve(self, folder: str, file: SourceFile) -> str:
        """Return the first free path for the file, and create an object there that the copy replaces, so that two
        archives never replace each other's files."""
        reservation = json.dumps({"reserved for": file.path, "version": file.version}).encode()
        for candidate in with_suffix(Path(folder), _name_of(file)):
            if self._client.create(str(candidate), reservation):
                return str(candidate)
            entry = self._client.stat(str(candidate))
            if entry is not None and entry.size == len(reservation):
                found = self._client.read_small(str(candidate))
                if found is not None and found[0] == reservation:  # of an attempt that ended here
                    return str(candidate)
        raise AssertionError("candidates never end")

    def _require_same(self, file: SourceFile, now: Entry | None) -> None:
        """Raises Transient `source.changed` for an object that is not the claimed one; its claim ends."""
        if now is None or now.version != file.version:
            self._claims.release(_name_of(file))
            raise changed(file, "was replaced after it was claimed. The new object stays in its place")

    def _not_ours(self, file: SourceFile) -> Transient:
        return Transient(
            "source.changed",
            f"{file.name} is no longer claimed by this run.",
            hint="Another attempt has taken it over, or something has deleted its claim; the next attempt lists again.",
            node=self.node,
        )

    def _expanded(self, folder: str) -> str:
        moment = datetime.now(timezone(self._config.pattern.timezone))
        return self._folder + as_prefix(expand_tokens(folder, moment))


def as_prefix(path: str) -> str:
    """Return a folder as the prefix of its objects: empty for the root, else with a slash at its end."""
    folder = path.strip("/").removeprefix("./")
    return f"{folder}/" if folder not in ("", ".") else ""


def _name_of(file: SourceFile) -> str:
    return file.path.rpartition("/")[2]
