"""The environment of whole runs: a files folder, a warehouse schema, documents and ports that record events."""

from __future__ import annotations

import csv
import io
import itertools
import json
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from executors.errors import Failure
from executors.load_record import LoadCommit
from executors.model import Connection, NewestFile, RunJob, SourceFile, StoreConnection
from executors.ports import Ports, RateBudget, WriteBudget
from executors.report import NodeReport, RunReport
from executors.runs.load import run_pipeline
from executors.runs.preview import preview_pipeline
from ir import parsePipelineIR
from tests.connectors.storages import Folder, Storage, place_of

Row = Mapping[str, Any]


# --- files of each format, holding the same rows ----------------------------------------------------------------


def delimited(rows: Sequence[Row], delimiter: str) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(rows[0] if rows else [])
    for row in rows:
        # None is an empty cell and '' a quoted one; the csv module cannot write that difference.
        out.write(delimiter.join(_cell(value) for value in row.values()) + "\n")
    return out.getvalue().encode()


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if isinstance(value, str) else text


def parquet(rows: Sequence[Row]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), out)
    return out.getvalue()


FORMATS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    "csv": lambda rows: delimited(rows, ","),
    "tsv": lambda rows: delimited(rows, "\t"),
    "json": lambda rows: json.dumps([dict(row) for row in rows]).encode(),
    "jsonl": lambda rows: "".join(json.dumps(dict(row)) + "\n" for row in rows).encode(),
    "parquet": parquet,
}


# --- ports that remember ----------------------------------------------------------------------------------------


@dataclass
class Memory:
    """All ports in one. Stores events and units; `on_step` is called at each step, `stop` ends the run."""

    steps: list[tuple[str, str | None]] = field(default_factory=list)
    rows: list[tuple[str, int]] = field(default_factory=list)
    nodes: list[NodeReport] = field(default_factory=list)
    commits: dict[str, LoadCommit] = field(default_factory=dict)
    alerts: list[tuple[str, str]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    states: dict[str, str] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    forgotten_tokens: dict[str, int] = field(default_factory=dict)
    forgotten_states: int | None = None
    failed_names: set[str] = field(default_factory=set)
    newest: NewestFile | None = None
    on_step: Callable[[str, str | None], None] = lambda step, node: None
    on_committed: Callable[[LoadCommit], None] = lambda commit: None
    rate: RateBudget | None = None
    writes: WriteBudget | None = None
    stop: Failure | None = None
    interrupt: Callable[[], None] | None = None

    def ports(self) -> Ports:
        def last(node: str) -> str | None:
            return self.commits[node].run_id if node in self.commits else None

        return Ports(self, self, self, last, self.rate, self.writes)

    def step(self, name: str, node: str | None = None) -> None:
        self.steps.append((name, node))
        self.on_step(name, node)

    def step_note(self, name: str, note: str) -> None:
        self.notes.append((name, note))

    def step_rows(self, name: str, rows: int) -> None:
        self.rows.append((name, rows))

    def node_finished(self, report: NodeReport) -> None:
        self.nodes.append(report)

    def committed(self, commit: LoadCommit) -> None:
        self.on_committed(commit)
        self.commits[commit.node] = commit

    def log(self, level: str, message: str, node: str | None = None) -> None:
        self.lines.append(message)

    def alert(self, kind: str, severity: str, message: str, next_step: str, node: str | None = None) -> None:
        self.alerts.append((kind, message))

    def forgotten(self, hashes: Iterable[str]) -> Mapping[str, int]:
        return {h: self.forgotten_tokens[h] for h in hashes if h in self.forgotten_tokens}

    def states_forgotten(self) -> int | None:
        return self.forgotten_states

    def known_hashes(self, fingerprints: Iterable[str]) -> Mapping[str, str]:
        wanted = set(fingerprints)
        return {
            fingerprint: sha256
            for sha256, fingerprint in self.fingerprints.items()
            if fingerprint in wanted and self.states[sha256] in ("committed", "undone")
        }

    def claim(self, node: str, files: Mapping[str, SourceFile]) -> None:
        self.states.update(dict.fromkeys(files, "processing"))
        self.fingerprints.update({sha256: file.fingerprint for sha256, file in files.items()})

    def finish(self, hashes: Iterable[str]) -> None:
        self.states.update(dict.fromkeys(hashes, "committed"))

    def undo(self, hashes: Iterable[str], reason: str) -> None:
        self.states.update(dict.fromkeys(hashes, "pending"))

    def mark_deleted(self, hashes: Iterable[str], reason: str) -> None:
        self.states.update(dict.fromkeys(hashes, "undone"))

    def fail(self, node: str, files: Mapping[str, SourceFile], reason: str) -> None:
        self.states.update({h: "failed" for h in files if self.states.get(h) != "committed"})
        self.failed_names |= {file.name for file in files.values()}

    def failed(self, node: str) -> Collection[str]:
        return self.failed_names

    def arrived_whole(self, files: Sequence[SourceFile]) -> Collection[str]:
        return ()

    def newest_loaded(self, node: str, by: str, without: Collection[str]) -> NewestFile | None:
        return self.newest

    def skip(self, node: str, file: SourceFile, sha256: str, reason: str) -> None:
        self.skipped.append((file.name, reason))

    def check(self) -> None:
        if self.stop:
            raise self.stop

    def on_cancel(self, interrupt: Callable[[], None]) -> None:
        self.interrupt = interrupt


# --- the world --------------------------------------------------------------------------------------------------


@dataclass
class World:
    """The environment of one pipeline. `run` makes one attempt, of a new run by default."""

    folder: Path
    warehouse: Connection
    schema: str
    memory: Memory = field(default_factory=Memory)
    tenant: str = field(default_factory=lambda: str(uuid.uuid4()))
    tokens: Any = field(default_factory=lambda: itertools.count(1))
    files: Storage | None = None
    stores: dict[str, StoreConnection] = field(default_factory=dict)

    @property
    def storage(self) -> Storage:
        """Return the storage of the pipeline's files: by default the folder `in`."""
        return self.files or Folder(self.folder)

    def write(self, name: str, content: bytes | str) -> Path:
        return self.storage.write(name, content.encode() if isinstance(content, str) else content)

    def shown(self, name: str) -> str:
        """Return the name of a file as users see it."""
        return f"{self.storage.path.removeprefix('http://').rstrip('/')}/{name}"

    def connect(self) -> psycopg.Connection[Any]:
        w = self.warehouse
        return psycopg.connect(
            host=w.host,
            port=w.port,
            dbname=w.database,
            user=w.user,
            password=w.password,
            autocommit=True,
            options=f"-c search_path={self.schema}",
        )

    def sql(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def document(
        self,
        *,
        format: str = "csv",
        mode: str = "append",
        rules: Sequence[Mapping[str, Any]] = (),
        checks: Mapping[str, Any] | None = None,
        ops: Sequence[Mapping[str, Any]] = (),
        source: Mapping[str, Any] | None = None,
        columns: Sequence[Mapping[str, Any]] | None = None,
        quarantine: bool = True,
        **target: Any,
    ) -> dict[str, Any]:
        """Return source → (transform) → validate → target, for all files and the table `t`."""
        config = {
            **place_of(self.storage),
            "pattern": {"type": "glob", "value": "*"},
            "format": {"type": format},
            "waitPolicy": {"settleSeconds": 0},
            **(source or {}),
        }
        nodes: list[dict[str, Any]] = [
            {"id": "src", "kind": "source", "connector": self.storage.connector, "config": config}
        ]
        if self.storage.connection:
            nodes[0]["connection"] = "files"
        if columns:
            nodes[0]["columns"] = list(columns)
        if ops:
            nodes.append({"id": "shape", "kind": "transform", "inputs": ["src"], "ops": list(ops)})
        check: dict[str, Any] = {"id": "check", "kind": "validate", "inputs": [nodes[-1]["id"]]}
        check["rowLevel"] = list(rules)
        if checks:
            check["datasetLevel"] = dict(checks)
        if quarantine:
            check["quarantine"] = {"enabled": True, "table": f"{self.schema}.rejected"}
        nodes.append(check)
        if mode == "upsert":
            target.setdefault("upsertKey", ["id"])
        if mode == "incremental_watermark":
            target.setdefault("watermarkColumn", "id")
        nodes.append(
            {
                "id": "load",
                "kind": "target",
                "inputs": ["check"],
                "connector": "postgres",
                "connection": "warehouse",
                "schema": self.schema,
                "table": "t",
                "loadMode": mode,
                **target,
            }
        )
        return {"kind": "pipeline", "version": "1.0", "id": "case", "nodes": nodes}

    def table_document(self, table: str = "s", *, query: str | None = None, **document: Any) -> dict[str, Any]:
        """Return the same document for a table of the warehouse, or for a query."""
        config = {"query": query} if query else {"table": {"schema": self.schema, "name": table}}
        made = self.document(**document)
        made["nodes"][0] |= {"connector": "postgres", "connection": "warehouse", "config": config}
        return made

    def run(
        self, document: Mapping[str, Any], *, run_id: str | None = None, attempt: int = 1, token: int | None = None
    ) -> RunReport:
        return run_pipeline(self.job(document, run_id, attempt, token), self.memory.ports())

    def preview(self, document: Mapping[str, Any]) -> RunReport:
        return preview_pipeline(self.job(document), self.memory.ports())

    def job(
        self,
        document: Mapping[str, Any],
        run_id: str | None = None,
        attempt: int = 1,
        token: int | None = None,
        **more: Any,
    ) -> RunJob:
        return RunJob(
            run_id=run_id or str(uuid.uuid4()),
            tenant=self.tenant,
            pipeline=parsePipelineIR(dict(document)).pipeline,
            version=1,
            attempt=attempt,
            token=token or next(self.tokens),
            connections={"warehouse": self.warehouse},
            files_folder=self.folder,
            taps=self.folder / ".taps",
            stores=self.stores | ({"files": self.storage.connection} if self.storage.connection else {}),
            **more,
        )

    def claimed(self, name: str) -> list[Path]:
        """Return the path of a claimed file in the staging folder `.doing/`."""
        return sorted((self.folder / "in" / ".doing").glob(f"*/{name}"))

    def create_table(self, statement: str) -> None:
        self.sql(statement)

    def rows(self, columns: str = "*", table: str = "t") -> list[tuple[Any, ...]]:
        return self.sql(f"select {columns} from {table} order by 1")


def target_of(report: RunReport) -> NodeReport:
    return next(node for node in report.nodes if node.kind == "target")


def reconciles(report: RunReport) -> bool:
    """Return whether every number of the target adds up, and the rejected rows of all nodes on its path."""
    t = target_of(report)
    here = [node.rows_rejected_here or 0 for node in report.nodes]
    if len(report.target_counts) == 1 and sum(here) != t.rows_rejected:
        return False
    if not all(_adds_up(node) for node in report.nodes):
        return False
    if len(report.target_counts) == 1 and any(a.rows_out != b.rows_in for a, b in pairwise(report.nodes)):
        return False
    taken = (
        (t.rows_grouped or 0)
        + t.rows_filtered
        + t.rows_rejected
        + t.rows_replaced
        + t.rows_behind_mark
        + t.rows_suppressed
        + t.rows_loaded
        + (t.rows_deleted or 0)
    )
    return t.rows_read == taken and t.rows_loaded == t.rows_inserted + t.rows_updated + t.rows_unchanged


def _adds_up(node: NodeReport) -> bool:
    """Return whether each row that came in is either passed on or counted as removed."""
    own = (node.rows_replaced, node.rows_deleted, node.rows_behind_mark, node.rows_suppressed)
    here = (node.rows_rejected_here, *(own if node.kind == "target" else (node.rows_filtered, node.rows_grouped)))
    return node.rows_in == node.rows_out + sum(rows or 0 for rows in here)
