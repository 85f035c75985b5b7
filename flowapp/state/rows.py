"""Add imported runs and files to the control database."""

from __future__ import annotations

from uuid import UUID

from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.runs.load_units.models import DONE, LoadUnit, UnitState
from flowapp.runs.load_units.selectors import is_to_be_loaded_again
from flowapp.runs.models import ENDED, LOADS, CommitRecord, NodeRun, RuleCount, Run
from flowapp.state.records import Record, load, malformed
from ir.errors import FlowError


def add_runs(pipeline: Pipeline, records: list[Record], notes: list[str]) -> int:
    """Add the runs that do not exist here, with their counts. A run whose number is taken here gets a new number."""
    ids = [_uuid(record["id"]) for record in records]
    known = dict(Run.objects.filter(pk__in=ids).values_list("pk", "pipeline_id"))
    if any(owner != pipeline.pk for owner in known.values()):
        raise FlowError(
            "state.run_elsewhere",
            f"A run of pipeline {pipeline.slug} belongs to another pipeline here.",
            hint="Import into the workspace that has the pipeline.",
        )
    new = [record for record, key in zip(records, ids, strict=True) if key not in known]
    taken = set(
        Run.counted.filter(pipeline=pipeline, number__in=[r["number"] for r in new]).values_list("number", flat=True)
    )
    originals = _retried(pipeline, new, ids)
    schedules = [r["scheduled_at"] for r in new if r["scheduled_at"]]
    run_here = set(
        Run.objects.filter(pipeline=pipeline, scheduled_at__in=schedules).values_list("scheduled_at", flat=True)
    )
    versions = dict(PipelineVersion.objects.filter(pipeline=pipeline).order_by("number").values_list("sha256", "pk"))
    runs = []
    for record in new:
        run = Run(workspace_id=pipeline.workspace_id, pipeline=pipeline, **load(Run, record))
        if run.state not in ENDED or run.kind not in LOADS or run.ended_at is None:
            raise malformed(f"Run {run.pk} has not ended, or is no load.")
        if run.number in taken:
            pipeline.run_counter += 1
            notes.append(f"Run {run.number} of the file is run {pipeline.run_counter} here.")
            run.number = pipeline.run_counter
        pipeline.run_counter = max(pipeline.run_counter, run.number)
        if run.scheduled_at in run_here:
            notes.append(f"Run {run.number} was scheduled for the same time as a run here.")
            run.scheduled_at = None
        run.retry_of_id = originals.get(record["retryOf"])
        run.version_id = versions.get(record["versionSha256"])
        runs.append(run)
    Run.objects.bulk_create(runs)
    own = {"workspace_id": pipeline.workspace_id}
    pairs = list(zip(runs, new, strict=True))
    NodeRun.objects.bulk_create(NodeRun(run=run, **own, **load(NodeRun, one)) for run, r in pairs for one in r["nodes"])
    RuleCount.objects.bulk_create(
        RuleCount(run=run, **own, **load(RuleCount, one)) for run, r in pairs for one in r["rules"]
    )
    CommitRecord.objects.bulk_create(
        CommitRecord(run=run, pipeline=pipeline, **own, **load(CommitRecord, one))
        for run, r in pairs
        for one in r["commits"]
    )
    return len(runs)


def _retried(pipeline: Pipeline, records: list[Record], ids: list[UUID]) -> dict[str, UUID]:
    """Return the partially loaded runs that these runs retried, so that nothing retries them again."""
    named = [_uuid(record["retryOf"]) for record in records if record["retryOf"]]
    here = Run.objects.filter(pk__in=named, pipeline=pipeline).values_list("pk", flat=True)
    return {str(key): key for key in (*here, *(key for key in ids if key in named))}


def add_files(pipeline: Pipeline, records: list[Record], notes: list[str]) -> int:
    """Add the files that do not exist here. A file that exists here becomes loaded if it is loaded in the export,
    unless a user has requested here to load it again."""
    here = {
        _key(unit): unit
        for unit in LoadUnit.objects.filter(pipeline=pipeline, sha256__in=[record["sha256"] for record in records])
    }
    named = {record["run"] for record in records if record["run"]}
    runs = {str(key) for key in Run.objects.filter(pk__in=named, pipeline=pipeline).values_list("pk", flat=True)}
    new, changed = [], 0
    for record in records:
        run_id = _uuid(record["run"]) if record["run"] in runs else None
        unit = LoadUnit(workspace_id=pipeline.workspace_id, pipeline=pipeline, run_id=run_id, **load(LoadUnit, record))
        same = here.get(_key(unit))
        if same is None:
            new.append(unit)
        elif unit.state == UnitState.COMMITTED and same.state not in DONE and not is_to_be_loaded_again(same):
            notes.append(f"{unit.name} was {same.state} here and is loaded now.")
            LoadUnit.objects.filter(pk=same.pk).update(
                state=unit.state, reason="", run_id=run_id, node=unit.node, changed_at=unit.changed_at
            )
            changed += 1
    LoadUnit.objects.bulk_create(new)
    return len(new) + changed


def _key(unit: LoadUnit) -> tuple[str, str]:
    """Return the key of a unit: its bytes, plus the name if the bytes were skipped under it."""
    return unit.sha256, unit.name if unit.state == UnitState.SKIPPED else ""


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except (ValueError, TypeError, AttributeError) as error:
        raise malformed("A run has no id.") from error
