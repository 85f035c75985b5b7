"""Read the state of pipelines from a file. Runs are merged by id; for everything else the later change wins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

from django.db import transaction
from django.utils import timezone

from executors.model import Connection
from executors.target_database import WrittenState, write_moved_state
from flowapp.accounts.models import Workspace
from flowapp.batches import in_batches
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.deletion import refuse_unfinished
from flowapp.runs.models import CommitRecord
from flowapp.state.exporting import target_connections
from flowapp.state.records import Record, read, verify
from flowapp.state.rows import add_files, add_runs
from ir.errors import FlowError
from ir.words import counted

RUNS_AT_ONCE, FILES_AT_ONCE = 50, 500


@dataclass
class Imported:
    """What an import added to one pipeline, or would add. `error` is the reason if nothing was added to the control
    database; `written` are the connections whose databases have committed by then."""

    pipeline: str
    runs: int = 0
    files: int = 0
    load_records: int = 0
    watermarks: int = 0
    notes: list[str] = field(default_factory=list)
    error: FlowError | None = None
    written: list[str] = field(default_factory=list)


def import_state(workspace: Workspace, path: Path, *, dry_run: bool = False) -> list[Imported]:
    """Import each pipeline of a file in its own transaction. A repeated import changes nothing.

    All databases of a pipeline are tried before the first of them is changed. Raises FlowError, before anything is
    imported, for a file that is damaged or of another workspace."""
    first = verify(path)
    _require_same_workspace(workspace, first)
    tried = _import_each(workspace, path, dry_run=True)
    if dry_run:
        return tried
    return _import_each(workspace, path, dry_run=False, failed={one.pipeline: one for one in tried if one.error})


def _import_each(
    workspace: Workspace, path: Path, *, dry_run: bool, failed: Mapping[str, Imported] = MappingProxyType({})
) -> list[Imported]:
    """Import each pipeline of the file, except those that have failed."""
    records = read(path)
    before = str(next(records)["tenant"])
    return [
        failed.get(pipeline["id"]) or _import_or_report(workspace, before, pipeline, members, dry_run)
        for pipeline, members in _by_pipeline(records)
    ]


def _require_same_workspace(workspace: Workspace, first: Record) -> None:
    other = Workspace.objects.filter(pk=first["tenant"]).exclude(pk=workspace.pk).exists()
    if first["workspace"] != workspace.slug or other:
        raise FlowError(
            "state.workspace_other",
            f"The file holds state of workspace {first['workspace']!r}; this is {workspace.slug!r}.",
            hint=f"Set FLOW_WORKSPACE={first['workspace']}.",
        )


def _by_pipeline(records: Iterator[Record]) -> Iterator[tuple[Record, Iterator[Record]]]:
    """Yield each pipeline with its records. Records that the caller does not read are skipped."""
    head: Record | None = next(records)

    def members() -> Iterator[Record]:
        nonlocal head
        for record in records:
            if record["type"] in ("pipeline", "end"):
                head = record
                return
            yield record
        head = None

    while head is not None and head["type"] == "pipeline":
        its_own = members()
        yield head, its_own
        for _ in its_own:
            pass


def _import_or_report(
    workspace: Workspace, before: str, head: Record, members: Iterator[Record], dry_run: bool
) -> Imported:
    done = Imported(head["id"])
    try:
        with transaction.atomic():
            _import_pipeline(get_pipeline(workspace, head["id"]), before, head, members, done, dry_run)
            if dry_run:
                transaction.set_rollback(True)
    except FlowError as error:
        return Imported(head["id"], error=_partly_imported(done, error) if done.written else error)
    return done


def _partly_imported(done: Imported, error: FlowError) -> FlowError:
    return FlowError(
        "state.partly_imported",
        f"Load records and watermarks of {done.pipeline} were written through {', '.join(done.written)}, but nothing "
        f"else was imported. {error.message}",
        hint=f"{error.hint} Then import the file again: it adds what is missing.".strip(),
    )


def _import_pipeline(
    pipeline: Pipeline, before: str, head: Record, members: Iterator[Record], done: Imported, dry_run: bool
) -> None:
    pipeline = Pipeline.objects.select_for_update().get(pk=pipeline.pk)
    refuse_unfinished(pipeline)
    connections = target_connections(pipeline)
    _raise_counters(pipeline, head)
    for (kind, name), group in groupby(members, key=lambda r: (_PHASES[r["type"]], r.get("connection", ""))):
        if kind == "runs":
            for batch in in_batches(group, RUNS_AT_ONCE):
                done.runs += add_runs(pipeline, batch, done.notes)
        elif kind == "files":
            for batch in in_batches(group, FILES_AT_ONCE):
                done.files += add_files(pipeline, batch, done.notes)
        else:
            _write_target(pipeline, connections, before, name, group, done, dry_run)
    pipeline.save(
        update_fields=["fence_counter", "run_counter", "trial_counter", "forgotten_token", "forgotten_reason"]
    )


_PHASES = {"run": "runs", "file": "files", "watermark": "target", "load_record": "target"}


def _raise_counters(pipeline: Pipeline, head: Record) -> None:
    """Raise the fence counter above the tokens in the targets. A request to load everything again is only imported into
    a pipeline that has not loaded anything here."""
    if pipeline.forgotten_token is None and not pipeline.commits.exists():
        pipeline.forgotten_token, pipeline.forgotten_reason = head["forgotten_token"], head["forgotten_reason"]
    for name in ("fence_counter", "run_counter", "trial_counter"):
        setattr(pipeline, name, max(getattr(pipeline, name), int(head[name])))


def _write_target(
    pipeline: Pipeline,
    connections: dict[str, Connection],
    before: str,
    name: str,
    group: Iterator[Record],
    done: Imported,
    dry_run: bool,
) -> None:
    """Write load records and watermarks into a target. They commit before the control database and the next target do;
    if one of these fails, the next import finds them there."""
    if name not in connections:
        done.notes.append(f"No target uses the connection {name} any more. Its load records were left out.")
        return
    parts = groupby(group, key=lambda record: record["type"])
    kind, records = next(parts)
    watermarks = [record["watermark"] for record in records] if kind == "watermark" else []
    rest = (record for _, part in parts for record in part) if watermarks else records
    written = write_moved_state(
        connections[name],
        before=before,
        tenant=str(pipeline.workspace_id),
        pipeline=pipeline.slug,
        commits=_still_counting(pipeline, rest),
        watermarks=watermarks,
        dry_run=dry_run,
    )
    done.written += [] if dry_run else [name]
    _report(pipeline, written, done)


def _still_counting(pipeline: Pipeline, records: Iterator[Record]) -> Iterator[Record]:
    """Yield the load records without those that were forgotten here, because their files will load again."""
    for batch in in_batches(records):
        runs = {record["run_id"] for record in batch}
        forgotten = CommitRecord.objects.filter(pipeline=pipeline, run__in=runs).exclude(forgotten_at=None)
        keys = {(str(run), node) for run, node in forgotten.values_list("run_id", "node")}
        yield from (record for record in batch if (record["run_id"], record["node"]) not in keys)


def _report(pipeline: Pipeline, written: WrittenState, done: Imported) -> None:
    done.load_records += written.adopted + written.commits
    done.watermarks += written.watermarks
    done.notes += [f"The watermark of {table} is newer here and was not changed." for table in written.newer]
    done.notes += [
        f"{table} is missing or empty, and has no watermark: the next run reads all." for table in written.unmarked
    ]
    for node in sorted(written.reloaded):
        done.notes.append(f"The table of {node} is missing or empty: the next run loads its files again.")
        forgotten = CommitRecord.objects.filter(pipeline=pipeline, node=node, forgotten_at=None)
        count = forgotten.update(forgotten_at=timezone.now())
        done.notes += [f"{counted(count, 'load')} of {node} no longer count."] if count else []
