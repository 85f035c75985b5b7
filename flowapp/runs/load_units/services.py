"""The states of load units. Callers hold the run's lease."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, QuerySet, Value

from executors.model import SourceFile
from flowapp.batches import IsAnyOf, in_batches
from flowapp.clock import Now
from flowapp.pipelines.models import Pipeline
from flowapp.runs.load_units.headers import store_headers
from flowapp.runs.load_units.models import DONE, LoadUnit, UnitRun, UnitState
from flowapp.runs.load_units.selectors import loaded_unit_of
from flowapp.runs.models import CommitRecord, Run
from ir.errors import FlowError


def units_of(pipeline_id: UUID, hashes: Sequence[str]) -> QuerySet[LoadUnit]:
    """Return the units of these bytes, without other names under which they were skipped."""
    units = LoadUnit.objects.filter(IsAnyOf("sha256", hashes), pipeline_id=pipeline_id)
    return units.exclude(state=UnitState.SKIPPED)


def forgotten(pipeline: Pipeline, hashes: Iterable[str]) -> dict[str, int]:
    """Return for each file the fence token up to which its loads are ignored; files without one are absent."""
    wanted, everything = list(hashes), all_forgotten(pipeline)
    found = {} if everything is None else dict.fromkeys(wanted, everything)
    for batch in in_batches(wanted):
        single = units_of(pipeline.pk, batch).exclude(forgotten_token=None)
        for sha256, token in single.values_list("sha256", "forgotten_token"):
            if token is not None:
                found[sha256] = max(token, found.get(sha256, token))
    return found


def all_forgotten(pipeline: Pipeline) -> int | None:
    """Return the fence token up to which all loads are ignored."""
    return Pipeline.objects.values_list("forgotten_token", flat=True).get(pk=pipeline.pk)


def known_hashes(pipeline_id: UUID, fingerprints: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of loaded and undone files by their fingerprints."""
    found: dict[str, str] = {}
    for batch in in_batches(fingerprints):
        units = LoadUnit.objects.filter(pipeline_id=pipeline_id, fingerprint__in=batch, state__in=DONE)
        found |= dict(units.values_list("fingerprint", "sha256"))
    return found


SEEN = ("name", "mtime_ns", "rows", "first_line", "header_id", "fingerprint")
Headers = Mapping[tuple[tuple[str, str], ...], int]


def _seen_of(file: SourceFile, headers: Headers) -> dict[str, object]:
    """Return the fields that may change when the same bytes are seen again."""
    header = headers.get(file.columns) if file.columns else None
    return dict(
        zip(SEEN, (file.name, file.mtime_ns, file.records, file.first_line, header, file.fingerprint), strict=True)
    )


def claim_units(run: Run, node: str, files: Mapping[str, SourceFile], attempt: int) -> None:
    """Mark files as being processed by a run."""
    for batch in in_batches(files.items()):
        hashes = [sha256 for sha256, _ in batch]
        headers, now = store_headers(run, [file for _, file in batch]), _now(run)
        seen = units_of(run.pipeline_id, hashes).values_list("sha256", *SEEN)
        known = {sha256: tuple(values) for sha256, *values in seen}
        units_of(run.pipeline_id, hashes).update(
            state=UnitState.PROCESSING, run=run, node=node, attempt=attempt, reason="", changed_at=Now()
        )
        for sha256, file in batch:
            if sha256 in known and known[sha256] != tuple((seen_now := _seen_of(file, headers)).values()):
                units_of(run.pipeline_id, [sha256]).update(**seen_now)
        LoadUnit.objects.bulk_create(
            _unit(run, node, file, sha256, headers, state=UnitState.PROCESSING, attempt=attempt, changed_at=now)
            for sha256, file in batch
            if sha256 not in known
        )
        _note_tries(run, hashes, UnitState.PROCESSING)


def finish_units(run: Run, hashes: Iterable[str]) -> None:
    for batch in in_batches(hashes):
        units_of(run.pipeline_id, batch).update(state=UnitState.COMMITTED, reason="", run=run, changed_at=Now())
        _note_tries(run, batch, UnitState.COMMITTED)


def undo_units(run: Run, hashes: Iterable[str], reason: str) -> None:
    """Record that loads of files are undone, so that the next run loads the files again."""
    _change_units(run, hashes, UnitState.PENDING, reason)


def mark_deleted(run: Run, hashes: Iterable[str], reason: str) -> None:
    """Record that the rows of files were deleted. No run loads the files again without a request."""
    _change_units(run, hashes, UnitState.UNDONE, reason)


def _change_units(run: Run, hashes: Iterable[str], state: UnitState, reason: str) -> None:
    for batch in in_batches(hashes):
        units_of(run.pipeline_id, batch).update(state=state, reason=reason, run=run, changed_at=Now())
        _note_tries(run, batch, state, reason)


def fail_units(run: Run, node: str, files: Mapping[str, SourceFile], reason: str) -> None:
    """Record that files could not be loaded. Files that were loaded or undone before keep their state."""
    failed = {"state": UnitState.FAILED, "reason": reason}
    now = _now(run)
    for batch in in_batches(files.items()):
        hashes = [sha256 for sha256, _ in batch]
        units = units_of(run.pipeline_id, hashes)
        known = set(units.values_list("sha256", flat=True))
        units.exclude(state__in=DONE).update(run=run, changed_at=Now(), **failed)
        headers = store_headers(run, [file for _, file in batch])
        LoadUnit.objects.bulk_create(
            _unit(run, node, file, sha256, headers, changed_at=now, **failed)
            for sha256, file in batch
            if sha256 not in known
        )
        _note_tries(run, hashes, UnitState.FAILED, reason)


def skip_unit(run: Run, node: str, file: SourceFile, sha256: str, reason: str) -> None:
    """Record that bytes were skipped under this name. The name from which they were loaded gets no extra row."""
    if units_of(run.pipeline_id, [sha256]).filter(name=file.name, state__in=DONE).update(fingerprint=file.fingerprint):
        return
    skipped = LoadUnit.objects.filter(
        pipeline_id=run.pipeline_id, sha256=sha256, name=file.name, state=UnitState.SKIPPED
    )
    if not skipped.update(run=run, reason=reason, changed_at=Now()):
        skipped_now = {"state": UnitState.SKIPPED, "reason": reason, "changed_at": Now()}
        _unit(run, node, file, sha256, {}, **skipped_now).save(force_insert=True)


def release_units(run: Run, state: str, reason: str) -> None:
    """Release the files of a run that ended without a result for them."""
    released = {"state": state, "reason": reason}
    LoadUnit.objects.filter(run=run, state=UnitState.PROCESSING).update(changed_at=Now(), **released)
    UnitRun.objects.filter(run=run, state=UnitState.PROCESSING).update(at=Now(), **released)


def _note_tries(run: Run, hashes: Sequence[str], state: UnitState, reason: str = "") -> None:
    """Record what the run did with files that are now in this state."""
    units = units_of(run.pipeline_id, hashes).filter(run=run, state=state)
    noted = units.annotate(noted=Value(reason), now=Now())
    columns = ("workspace_id", "pk", "run_id", "state", "noted", "now")
    select, values = noted.values_list(*columns).query.sql_with_params()
    with connection.cursor() as cursor:
        cursor.execute(_NOTE.format(select), values)


_NOTE = (
    f"INSERT INTO {UnitRun._meta.db_table} (workspace_id, unit_id, run_id, state, reason, at) {{}}"
    " ON CONFLICT (unit_id, run_id) DO UPDATE SET state = excluded.state, reason = excluded.reason, at = excluded.at"
)
"""The database copies the rows: to send thousands of them takes most of the time of a run of small files."""


def _now(run: Run) -> datetime:
    """Return the time of the control database as a value: rows whose values are no expressions are inserted as arrays,
    which takes a fraction of the time."""
    return Run.objects.annotate(now=Now()).values_list("now", flat=True).get(pk=run.pk)


@transaction.atomic
def load_again(pipeline: Pipeline, reason: str, *, units: Sequence[LoadUnit] | None = None) -> None:
    """Forget the loads of some or all files, so that the next run loads them again. Raises FlowError.

    After a target was restored to an older state, loading all again loads only what it has lost: commit markers in the
    target identify what it still contains and prevent duplicates.
    """
    if not reason.strip():
        raise FlowError("reason.required", "Loading a file again needs a reason.", hint="Give a reason. It is stored.")
    if units is not None:
        _forget_units(pipeline, reason, units)
    elif has_gone_back(pipeline):
        CommitRecord.objects.filter(pipeline=pipeline, forgotten_at=None).update(forgotten_at=Now())
    else:
        Pipeline.objects.filter(pk=pipeline.pk).update(forgotten_token=F("fence_counter"), forgotten_reason=reason)


def _forget_units(pipeline: Pipeline, reason: str, units: Sequence[LoadUnit]) -> None:
    token = Pipeline.objects.values_list("fence_counter", flat=True).get(pk=pipeline.pk)
    for batch in in_batches(unit.pk for unit in units):
        LoadUnit.objects.filter(pipeline=pipeline, pk__in=batch).update(
            forgotten_token=token, forgotten_at=Now(), forgotten_reason=reason
        )


def load_file_again(unit: LoadUnit, reason: str) -> LoadUnit:
    """Forget the load of one file; return the unit that the next run loads.

    For a file skipped as a duplicate, that is the file with the same bytes that was loaded. Raises FlowError.
    """
    loaded = loaded_unit_of(unit)
    if loaded is None:
        raise FlowError(
            "load_again.never_loaded", f"{unit.name} has never been loaded by this pipeline.", hint="Run the pipeline."
        )
    if loaded.state == UnitState.PROCESSING:
        raise FlowError("load_again.busy", f"{loaded.name} is being loaded now.", hint="Wait until its run finishes.")
    load_again(loaded.pipeline, reason, units=[loaded])
    loaded.refresh_from_db()
    return loaded


def leave_out(unit: LoadUnit, reason: str) -> LoadUnit:
    """Exclude a failed file, so that the files behind it can load. If it arrives again, it is loaded. Raises
    FlowError."""
    if not reason.strip():
        raise FlowError("reason.required", "Skipping a file needs a reason.", hint="Give a reason. It is stored.")
    with transaction.atomic():
        # The same bytes under the same name may have been excluded before.
        same = LoadUnit.objects.filter(pipeline_id=unit.pipeline_id, sha256=unit.sha256, name=unit.name)
        same.filter(state=UnitState.SKIPPED).delete()
        excluded = {"state": UnitState.SKIPPED, "reason": f"Skipped: {reason}", "changed_at": Now()}
        if not LoadUnit.objects.filter(pk=unit.pk, state=UnitState.FAILED).update(**excluded):
            raise FlowError(
                "leave_out.not_failed",
                f"{unit.name} is {unit.state}, not failed.",
                hint="Only failed files can be skipped.",
            )
    unit.refresh_from_db()
    return unit


def has_gone_back(pipeline: Pipeline) -> bool:
    """Return whether the last run found its target restored to an older state."""
    ended = Run.counted.filter(pipeline=pipeline).exclude(ended_at=None)
    return ended.order_by("-queued_at", "-number").values_list("error_code", flat=True).first() == "target.went_back"


def _unit(run: Run, node: str, file: SourceFile, sha256: str, headers: Headers, **more: object) -> LoadUnit:
    return LoadUnit(
        workspace_id=run.workspace_id,
        pipeline_id=run.pipeline_id,
        node=node,
        sha256=sha256,
        size=file.size,
        run=run,
        **_seen_of(file, headers),
        **more,
    )
