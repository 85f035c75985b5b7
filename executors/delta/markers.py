"""The commit markers of a target: one file for each load, which counts once the log of the table names it.

A commit to the log of a Delta table can have application transactions: pairs of a name and a number. A load commits its
files and the pair of its target and its fence token in one entry. Its marker is written before, and names the load
before it, so that the markers from the newest pair backwards are those of all loads. Markers of loads that never
committed are not among them. They are in the root of the connection, so that those of a former table of a target are
found.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from deltalake import DeltaTable, Transaction

from executors.delta.folders import TableFolder
from executors.errors import LeaseLost, TargetBusy, Terminal
from executors.load_record import LoadCommit, LoadFile, RunRef
from ir.stored_json import StoredJson

FOLDER = "_flow/loads"
READ_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Marker:
    """What is stored of a load: its commit, the files that it added, and the token of the load before it. `rejects` is
    the connection of the database with its rejected rows, None without one; `files` are those that it has read. `by`
    is the user who requested a replay, for a `reason`."""

    commit: LoadCommit
    added: tuple[str, ...] = ()
    previous: int | None = None
    rejects: str | None = None
    files: tuple[LoadFile, ...] = ()
    by: str = ""
    reason: str = ""


_FORMAT = StoredJson("marker of a load of a Delta table", Marker, 1, error=Terminal)


@dataclass(frozen=True, slots=True)
class TargetLog:
    """The loads of one target node in one table."""

    folder: TableFolder
    key: str

    @classmethod
    def of(cls, folder: TableFolder, tenant: str, pipeline: str, node: str) -> TargetLog:
        return cls(folder, hashlib.sha256("\n".join((tenant, pipeline, node)).encode()).hexdigest()[:32])

    # --- fences -----------------------------------------------------------------------------------------------

    def fence_of(self, table: DeltaTable) -> int:
        return table.transaction_version(self._fence) or 0

    def require_fence(self, table: DeltaTable, run: RunRef) -> None:
        """Raise LeaseLost if a newer attempt has raised the fence."""
        if self.fence_of(table) > run.token:
            raise _lease_lost(run)

    def note_fence(self, run: RunRef) -> None:
        """Record a fence for a table that does not exist yet, and so has no log. Look for the table again after it:
        either this attempt finds it, or the one that creates it finds the record."""
        self.folder.lake.write(f"{self._fences}/{run.token:020}", run.run_id.encode())

    def require_newest(self, run: RunRef) -> None:
        """Raise LeaseLost if a newer attempt has recorded a fence. Call it after the table is created."""
        if any(_token_of(path) > run.token for path in self.folder.lake.list(self._fences)):
            raise _lease_lost(run)

    def transactions(self, run: RunRef, *, loads: bool) -> list[Transaction]:
        """Return the application transactions of a commit: the library refuses it if another one has moved the fence
        since the table was read."""
        fence = Transaction(self._fence, run.token)
        return [fence, Transaction(self._load, run.token)] if loads else [fence]

    # --- markers ----------------------------------------------------------------------------------------------

    def last_token(self, table: DeltaTable) -> int | None:
        """Return the token of the newest load."""
        token: int | None = table.transaction_version(self._load)
        return token

    def write(self, marker: Marker) -> None:
        content = json.dumps(_FORMAT.dump(marker), separators=(",", ":")).encode()
        self.folder.lake.write(self._path(marker.commit.token), content)

    def read(self, token: int) -> Marker:
        return _FORMAT.load(json.loads(self.folder.lake.read(self._path(token))))

    def markers(self, table: DeltaTable) -> Sequence[Marker]:
        """Return the markers of all loads, the newest first."""
        token = self.last_token(table)
        if token is None:
            return ()
        found = self._read_all(token)
        markers: list[Marker] = []
        while token is not None:
            if token not in found:
                raise Terminal(
                    "target.markers_lost",
                    f"The record of a load of {self.folder.name} is missing: {self._path(token)}.",
                    hint="Restore the folder _flow of the connection. Flow finds in it which files are loaded.",
                )
            markers.append(found[token])
            token = found[token].previous
        return markers

    def _read_all(self, newest: int) -> Mapping[int, Marker]:
        tokens = [token for token in map(_token_of, self.folder.lake.list(self._markers)) if token <= newest]
        with ThreadPoolExecutor(READ_AT_ONCE) as pool:
            return dict(zip(tokens, pool.map(self.read, tokens), strict=True))

    def busy(self, run: RunRef, tries: int) -> TargetBusy:
        """Return the failure of a writer that others have overtaken so many times."""
        return TargetBusy(
            "target.busy",
            f"Other writers have committed to {self.folder.name} faster, {tries} times.",
            node=run.node,
            hint="The run waits in the queue. Load the table at another time than its other writers.",
        )

    def is_attempted(self, run: RunRef) -> bool:
        """Return whether this attempt has begun to commit."""
        return self._path(run.token) in self.folder.lake.list(self._markers)

    def find_former(self) -> Sequence[LoadCommit]:
        """Return the loads of the target into other tables, the newest first, committed or not."""
        tokens = map(_token_of, self.folder.lake.list(self._markers))
        commits = (marker.commit for _, marker in sorted(self._read_all(max(tokens, default=0)).items(), reverse=True))
        return [commit for commit in commits if f"{commit.table.schema}.{commit.table.table}" != self.folder.name]

    @property
    def _fences(self) -> str:
        return f"_flow/fences/{self.key}"

    @property
    def _markers(self) -> str:
        return f"{FOLDER}/{self.key}"

    @property
    def _fence(self) -> str:
        return f"flow.fence.{self.key}"

    @property
    def _load(self) -> str:
        return f"flow.load.{self.key}"

    def _path(self, token: int) -> str:
        return f"{self._markers}/{token:020}.json"


def marker_of(markers: Sequence[Marker], run: RunRef) -> Marker | None:
    """Return the marker of a run and node among markers."""
    return next((m for m in markers if (m.commit.run_id, m.commit.node) == (run.run_id, run.node)), None)


def _lease_lost(run: RunRef) -> LeaseLost:
    return LeaseLost("run.lease_lost", "Another worker has taken over this run. Nothing was written.", node=run.node)


def _token_of(path: str) -> int:
    return int(path.rpartition("/")[2].removesuffix(".json"))
