"""Claims of files in stores that cannot move a file atomically. A claim is a small object beside the file, which exists
once for each file and names its owner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from uuid import uuid4

from executors.errors import Terminal, Transient
from executors.sources.base import Claimant
from executors.stores.base import WritableStore

FOLDER = ".flow-claims/"
"""The folder of the claims below that of the files. It is the same for all pipelines, so that claims exclude each
other."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim by a source of a pipeline in a workspace (`tenant`).

    `file_version` is the version of the file that was claimed, `to` the path that the file is being archived to.
    `version` is that of the stored claim itself.
    """

    tenant: str
    pipeline: str
    source: str
    token: int
    run: str
    file_version: str | None
    to: str = ""
    version: str = field(default="", compare=False)

    def to_bytes(self) -> bytes:
        stored = asdict(self)
        del stored["version"]
        return json.dumps(stored).encode()


MOST_TRIES = 20
"""How often a run tries to take a claim that others take and release meanwhile."""
_NO_VERSION = "1"
"""The version of no object."""


def creates_exclusively(store: WritableStore, path: str) -> bool:
    """Return whether the store obeys conditions: only the first of two writes that must create a file succeeds, and
    none that must replace another version. The file is deleted. Raises Terminal `source.no_versions`."""
    if not store.create(path, b"1"):
        return False
    is_exclusive = not store.create(path, b"2")
    store.read_small(path)
    is_exclusive = is_exclusive and not store.replace(path, b"3", _NO_VERSION)
    store.delete(path)
    return is_exclusive


class Claims:
    """The claims of the files of one folder, as one source sees them."""

    def __init__(self, store: WritableStore, folder: str, node: str, claimant: Claimant) -> None:
        self._store, self._folder, self._node, self._who = store, folder, node, claimant
        self._is_exclusive = False

    def names(self) -> Iterator[str]:
        """Yield the names of all claimed files."""
        for entry in self._store.list(f"{self._folder}{FOLDER}"):
            if not entry.is_folder:
                yield entry.name

    def get(self, name: str) -> Claim | None:
        """Return the claim of a file; None if there is none. A claim that cannot be read belongs to an unknown
        owner."""
        found = self._store.read_small(self._path(name))
        if found is None:
            return None
        content, version = found
        try:
            return replace(Claim(**json.loads(content)), version=version)
        except (ValueError, TypeError):
            return Claim("", "", "", 0, "", None, version=version)

    def take(self, name: str, file_version: str | None) -> bool:
        """Claim a file for this attempt; take over a claim of an earlier attempt. Return False if another owner has
        it. Raises Terminal `source.not_exclusive`, and Transient `source.changed` if others take and release it all
        the time."""
        self._require_exclusive()
        who = self._who
        own = Claim(who.tenant, who.pipeline, self._node, who.token or 0, who.run_id, file_version)
        for _ in range(MOST_TRIES):
            if self._store.create(self._path(name), own.to_bytes()):
                return True
            held = self.get(name)
            if held is None:  # it was released in between
                continue
            if not self.may_take_over(held):
                return False
            to = held.to if held.file_version == file_version else ""
            if held == replace(own, to=to):
                return True
            if self._store.replace(self._path(name), replace(own, to=to).to_bytes(), held.version):
                return True
        raise Transient(
            "source.changed",
            f"The claim of {name} changed {MOST_TRIES} times while this run tried to take it.",
            hint="Other runs take and release it. The next attempt tries again.",
            node=self._node,
        )

    def _require_exclusive(self) -> None:
        """Refuse servers on which two runs could claim one file. Raises Terminal `source.not_exclusive`."""
        if self._is_exclusive:
            return
        if not creates_exclusively(self._store, f"{self._folder}{FOLDER}test/{uuid4()}"):
            raise Terminal(
                "source.not_exclusive",
                f"{self._store.name} replaces files that must not exist, so that two runs could load one file.",
                hint="Remove atomicity from the source, or use a server that supports conditional writes "
                "(If-None-Match).",
                node=self._node,
            )
        self._is_exclusive = True

    def record_destination(self, name: str, held: Claim, to: str) -> bool:
        """Store where a claimed file is archived, and that this attempt does it, before the file is copied. Return
        False if the claim has another owner now."""
        who = self._who
        own = replace(held, token=held.token if who.token is None else who.token, run=who.run_id or held.run, to=to)
        return own == held or self._store.replace(self._path(name), own.to_bytes(), held.version)

    def release(self, name: str) -> None:
        self._store.delete(self._path(name))

    def may_take_over(self, claim: Claim) -> bool:
        """Return whether a claim belongs to this source (`Claimant.may_take_over`)."""
        who = self._who
        return claim.tenant == who.tenant and who.may_take_over(self._node, claim.pipeline, claim.source, claim.token)

    def _path(self, name: str) -> str:
        return f"{self._folder}{FOLDER}{name}"
