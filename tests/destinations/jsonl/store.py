"""The files of the destination `jsonl`. The folder of a database is the connection's `database`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from executors.errors import LeaseLost
from executors.load_record import LoadCommit, LoadCounts, LoadRecord, RunRef, TableIdentity
from executors.model import RunJob
from ir.nodes import Target


@dataclass(frozen=True, slots=True)
class JsonlTable:
    """One target's folder. A load is one file: its first line is the commit marker, each other one a row."""

    folder: Path

    @classmethod
    def of(cls, job: RunJob, target: Target) -> JsonlTable:
        database = Path(job.connections[target.connection].database)
        return cls(database / f"{target.schema_}.{target.table}")

    def raise_fence(self, token: int) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.require_fence(token)
        (self.folder / "fence").write_text(str(token))

    def require_fence(self, token: int) -> None:
        """Raises LeaseLost behind a newer token."""
        fence = self.folder / "fence"
        if fence.exists() and int(fence.read_text()) > token:
            raise LeaseLost("run.lease_lost", "Another attempt loads this target now.")

    def commits(self) -> Iterator[dict[str, Any]]:
        """The markers of all loads, the newest last."""
        for load in sorted(self.folder.glob("*.load")):
            with load.open() as lines:
                yield json.loads(next(lines))

    def find_commit(self, run: RunRef) -> LoadCommit | None:
        found = (marker for marker in self.commits() if (marker["run"], marker["node"]) == (run.run_id, run.node))
        return next((self._commit_of(marker) for marker in found), None)

    def add(self, commit: LoadCommit, rows: Iterable[str]) -> None:
        """Add a load: a rename commits it. Tokens are in the order of loads, so that they name the files."""
        marker = {"run": commit.run_id, "node": commit.node, "attempt": commit.attempt, "token": commit.token}
        marker |= {"counts": asdict(commit.counts), "record": commit.record.to_json(), "files": commit.files_done}
        open_file = self.folder / f"{commit.run_id}.open"
        with open_file.open("w") as lines:
            lines.writelines(f"{line}\n" for line in (json.dumps(marker), *rows))
        self.require_fence(commit.token)
        os.replace(open_file, self.folder / f"{commit.token:012}-{commit.run_id}.load")

    def rows(self) -> list[dict[str, Any]]:
        """All rows, in the order of their loads."""
        found: list[dict[str, Any]] = []
        for load in sorted(self.folder.glob("*.load")):
            found += map(json.loads, load.read_text().splitlines()[1:])
        return found

    def _commit_of(self, marker: Mapping[str, Any]) -> LoadCommit:
        schema, _, table = self.folder.name.partition(".")
        return LoadCommit(
            marker["run"],
            marker["node"],
            marker["attempt"],
            TableIdentity(schema, table, None),
            token=marker["token"],
            load_mode="append",
            counts=LoadCounts(**marker["counts"]),
            record=LoadRecord.from_json(marker["record"]),
            files_done=tuple(marker["files"]),
        )
