"""Write the state of pipelines to a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from django.utils import timezone

from executors.model import Connection
from executors.target_database import read_moved_state
from flowapp.accounts.models import Workspace
from flowapp.batches import in_batches
from flowapp.connections.target_databases import database_of
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_version
from flowapp.runs.deletion import refuse_unfinished
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.models import ENDED, LOADS, Run
from flowapp.state.records import FORMAT, VERSION, Writer, dump
from ir.errors import FlowError

COUNTERS = ("fence_counter", "run_counter", "trial_counter", "forgotten_token", "forgotten_reason")


def export_state(workspace: Workspace, pipelines: Iterable[Pipeline], path: Path) -> Counter[str]:
    """Write the state of these pipelines; return the number of records of each kind. The file appears once it is
    complete.

    Raises FlowError while one of them has an unfinished run, and Failure if a target cannot be read."""
    chosen = list(pipelines)
    for pipeline in chosen:
        refuse_unfinished(pipeline)
    counts: Counter[str] = Counter()
    part = path.with_name(f"{path.name}.part")
    try:
        with open(
            os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8", newline="\n"
        ) as f:
            writer = Writer(f)
            writer.write(
                "state",
                {
                    "format": FORMAT,
                    "version": VERSION,
                    "workspace": workspace.slug,
                    "tenant": workspace.pk,
                    "exportedAt": timezone.now(),
                    "pipelines": [pipeline.slug for pipeline in chosen],
                },
            )
            for pipeline in chosen:
                counts += _export_pipeline(pipeline, writer)
            writer.end()
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return counts


def _export_pipeline(pipeline: Pipeline, writer: Writer) -> Counter[str]:
    counts = Counter(pipelines=1)
    pipeline.refresh_from_db()
    writer.write("pipeline", {"id": pipeline.slug, **{name: getattr(pipeline, name) for name in COUNTERS}})
    keys = Run.objects.filter(pipeline=pipeline, state__in=ENDED, kind__in=LOADS).order_by("number")
    for batch in in_batches(keys.values_list("pk", flat=True).iterator(), 50):
        runs = Run.objects.filter(pk__in=batch).order_by("number").select_related("version")
        for run in runs.prefetch_related("nodes", "rules", "commits").defer("version__document"):
            counts["runs"] += 1
            writer.write(
                "run",
                {
                    **dump(run),
                    "versionSha256": run.version.sha256 if run.version else None,
                    "retryOf": run.retry_of_id,
                    "nodes": [dump(node) for node in run.nodes.all()],
                    "rules": [dump(rule) for rule in run.rules.all()],
                    "commits": [dump(commit) for commit in run.commits.all()],
                },
            )
    for unit in LoadUnit.objects.filter(pipeline=pipeline).order_by("id").iterator(500):
        counts["files"] += 1
        state = UnitState.PENDING if unit.state == UnitState.PROCESSING else unit.state
        writer.write("file", {**dump(unit), "state": state, "run": unit.run_id})
    for name, connection in target_connections(pipeline).items():
        tenant = str(pipeline.workspace_id)
        with read_moved_state(connection, tenant, pipeline.slug) as (commits, watermarks):
            for watermark in watermarks:
                counts["watermarks"] += 1
                writer.write("watermark", {"connection": name, "watermark": watermark})
            for commit in commits:
                counts["load records"] += 1
                record = {**commit["record"], "statements": []}
                writer.write("load_record", {"connection": name, **commit, "record": record})
    _refuse_if_run_meanwhile(pipeline)
    return counts


def _refuse_if_run_meanwhile(pipeline: Pipeline) -> None:
    """Raise FlowError if a run started during the export, because the parts of the file would not be consistent."""
    refuse_unfinished(pipeline)
    if Pipeline.objects.values_list("fence_counter", flat=True).get(pk=pipeline.pk) != pipeline.fence_counter:
        raise FlowError("pipeline.busy", f"Pipeline {pipeline.slug!r} ran during the export.", hint="Export it again.")


def target_connections(pipeline: Pipeline) -> dict[str, Connection]:
    """Return the databases that the newest version loads, by the names of their connections. Raises FlowError
    `target.not_available` if it loads something else."""
    if not pipeline.latest_number:
        return {}
    document = read_document(get_version(pipeline).document)
    workspace = pipeline.workspace
    return {t.connection: database_of(workspace, t, "Moving the state is") for t in document.targets()}
