"""Queries for runs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from pydantic.alias_generators import to_camel

from flowapp.accounts.models import Workspace
from flowapp.connections.secrets import SecretUnreadable, decrypt
from flowapp.logs import redact
from flowapp.pipelines.models import Pipeline
from flowapp.runs.attempts import list_failed_attempts
from flowapp.runs.models import (
    ACTIVE,
    COUNTED,
    ENDED,
    TRIALS,
    EffectSample,
    HeldLoad,
    NodeRun,
    RuleCount,
    Run,
    RunKind,
    RunLog,
    State,
)
from flowapp.runs.run_kinds import run_kind_of
from flowapp.runs.stored_report import check_documents
from flowapp.runs.targets import missing_targets
from flowapp.web.paging import PageOf, take_page
from flowapp.web.sorting import Column
from ir.errors import FlowError

COUNTS = tuple(field.name for field in NodeRun._meta.get_fields() if field.name.startswith("rows_"))


NEWEST_FIRST = ("-queued_at", "id")
COLUMNS = (
    Column("queued", NEWEST_FIRST, starts_high=True),
    Column("duration", ("-sorted_seconds", "-id"), starts_high=True),
    Column("loaded", ("-sorted_loaded", "-id"), starts_high=True),
    Column("rejected", ("-sorted_rejected", "-id"), starts_high=True),
)
"""The columns that the list can be sorted by. Runs without a number come after those with 0."""
LONGEST_NUMBER = 18
"""The maximum number of digits of a run's number; ids have more."""
MOST_NAMES = 10


def list_runs(
    workspace: Workspace,
    *,
    pipeline: Pipeline | None = None,
    state: str | None = None,
    trigger: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> QuerySet[Run]:
    """List runs, newest first, without previews. `since` and `until` limit the time at which a run was queued, both
    inclusive."""
    filters = {
        "pipeline": pipeline,
        "state": state,
        "trigger": trigger,
        "queued_at__gte": since,
        "queued_at__lte": until,
    }
    runs = Run.counted.filter(workspace=workspace, **{name: v for name, v in filters.items() if v is not None})
    return _with_names(runs).order_by(*NEWEST_FIRST)


def with_sort_values(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Annotate the expressions by which the list is sorted and which have an index."""
    return runs.annotate(
        sorted_seconds=Coalesce("seconds", -1.0),
        sorted_loaded=Coalesce("rows_loaded", -1),
        sorted_rejected=Coalesce("rows_rejected", -1),
    )


def _with_names(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.select_related("pipeline", "version").defer("version__document")


def sum_loads(runs: Iterable[Run]) -> dict[UUID, dict[str, int | None]]:
    """Return the `loaded` and `rejected` rows of all targets of each run, by the run's key; for a run that ended before
    its load, only the rejected ones. At most three queries."""
    keys = {run.pk for run in runs}
    targets = NodeRun.objects.filter(run__in=keys).exclude(rows_loaded=None)
    sums = targets.values("run").annotate(loaded=Sum("rows_loaded"), rejected=Sum("rows_rejected"))
    counts = sums.values_list("run", "loaded", "rejected")
    loads = {key: {"loaded": loaded, "rejected": rejected} for key, loaded, rejected in counts}
    early = rejected_before_load(keys - loads.keys())
    return loads | {key: {"loaded": None, "rejected": rejected} for key, rejected in early.items()}


def rejected_before_load(keys: Collection[UUID]) -> dict[UUID, int | None]:
    """The number of rejected rows, as shown on their pages, of those runs that ended before any target was counted.

    None means unknown: no row was validated, or rules were violated and no rejected row was stored."""
    if not keys:
        return {}
    ended = Run.objects.filter(pk__in=keys, state__in=ENDED)
    rejected = {
        key: (rows, evaluated) for key, rows, evaluated in ended.values_list("pk", "quarantine_rows", "evaluated")
    }
    if not rejected:
        return {}
    counted = RuleCount.objects.filter(run__in=[key for key, (rows, _) in rejected.items() if not rows]).values("run")
    violations = dict(counted.annotate(all=Sum("violations")).values_list("run", "all"))
    return {
        key: rows or _count_without_rows(evaluated, violations.get(key)) for key, (rows, evaluated) in rejected.items()
    }


def _count_without_rows(evaluated: bool, violations: int | None) -> int | None:
    return 0 if evaluated and not violations else None


def run_ahead(run: Run) -> Run | None:
    """Return the run of the same pipeline for which a queued run waits; None for a run that does not count."""
    if not run.counts:
        return None
    ahead = Run.counted.filter(pipeline_id=run.pipeline_id, state__in=ACTIVE, number__lt=run.number)
    return ahead.order_by("number").first()


def get_run(workspace: Workspace, run_id: UUID | str) -> Run:
    """Return a run of this workspace, of any kind. Raises FlowError."""
    try:
        runs = Run.objects.filter(workspace=workspace).select_related(
            "restore__backup__run", "file_undo__unit", "retry_of"
        )
        return _with_names(runs).get(pk=UUID(str(run_id)))
    except (Run.DoesNotExist, ValueError):
        raise FlowError(
            "run.unknown", f"Unknown run {str(run_id)!r} here.", hint="`flow runs list` shows the newest runs."
        ) from None


def find_run(workspace: Workspace, named: str) -> Run:
    """Return a run by its name, such as `orders/12` or `orders/preview-3`, by the part after the slash if only one
    pipeline has such a run, or by its id. Raises FlowError."""
    slug, slash, short = named.strip().rpartition("/")
    kind, _, number = short.rpartition("-")
    kinds = [kind] if kind else COUNTED
    if not number.isdecimal() or len(number) > LONGEST_NUMBER or (kind and kind not in TRIALS):
        return get_run(workspace, named)
    runs = Run.objects.filter(pipeline__workspace=workspace, number=int(number), kind__in=kinds)
    candidates = _with_names(runs.filter(pipeline__slug=slug) if slash else runs).order_by("pipeline__slug")
    found = list(candidates[: MOST_NAMES + 1])
    if len(found) > 1:
        names = ", ".join(run.name for run in found[:MOST_NAMES])
        more = " and others" if len(found) > MOST_NAMES else ""
        raise FlowError(
            "run.ambiguous",
            f"Several pipelines have a run {short}: {names}{more}.",
            hint=f"Add the pipeline, such as {found[0].name}.",
        )
    return found[0] if found else get_run(workspace, named)


def last_states(workspace: Workspace) -> dict[UUID, str | None]:
    """Return the state of each pipeline's newest run, by the pipeline's key; None without a run."""
    newest = Run.counted.filter(pipeline=OuterRef("pk")).order_by("-queued_at", "id")
    states = Pipeline.objects.filter(workspace=workspace).annotate(last=Subquery(newest.values("state")[:1]))
    return dict(states.values_list("pk", "last"))


def list_log(run: Run) -> QuerySet[RunLog]:
    return RunLog.objects.filter(run=run).order_by("id")


LOG_LINES = 200
"""The number of lines of a page of a log."""
LOG_COLUMNS = (Column("time", ("-id",), starts_high=True),)


def page_log(run: Run, cursor: str = "", order: Sequence[str] = LOG_COLUMNS[0].order) -> PageOf[RunLog]:
    """Return a page of the log, by default newest lines first."""
    return take_page(list_log(run), cursor, order, LOG_LINES)


def failed_hooks(run: Run) -> list[str]:
    return [hook.id for hook in run.stored_report.hooks if hook.state == "failed"]


def run_document(run: Run, *, sees_values: bool = False) -> dict[str, Any]:
    """Return a run for `RunSerializer`. Row values, which only previews and checks have, are omitted unless
    `sees_values`."""
    report = run.stored_report
    return {
        "run": str(run.pk),
        "pipeline": run.pipeline.slug,
        "version": run.version_number,
        "attempt": run.attempt,
        "state": run.state,
        "startedAt": _utc(run.started_at),
        "endedAt": _utc(run.ended_at),
        "nodes": [_node(node) for node in NodeRun.objects.filter(run=run).order_by("position")],
        "rules": [_rule(rule) for rule in RuleCount.objects.filter(run=run).order_by("position")],
        "checks": check_documents(report.checks),
        "quarantine": {
            "rows": run.quarantine_rows or 0,
            "entries": report.quarantine_entries,
            "tables": list(report.quarantine_tables),
        },
        "warnings": [asdict(warning) for warning in report.warnings],
        "hooks": [hook.to_json() for hook in report.hooks],
        "error": run_error(run, sees_values=sees_values),
        **_effects(run, sees_values=sees_values),
        **_rows(run, sees_values=sees_values),
        **_holds(run),
        **_attempts(run),
        **_missing(run),
    }


def _missing(run: Run) -> dict[str, Any]:
    """Return the missing targets of a partially loaded load; empty for others, such as a backfill of which chunks have
    failed, and if this release cannot parse the document or the version of an imported run is not here."""
    if run.state != State.PARTIALLY_LOADED or run.kind != RunKind.LOAD:
        return {}
    with suppress(FlowError):
        return {"missingTargets": sorted(missing_targets(run))}
    return {}


def _attempts(run: Run) -> dict[str, Any]:
    """Return the failed attempts that were retried; empty if there are none."""
    failed = [
        {
            "attempt": one.attempt,
            "failedAt": _utc(one.failed_at),
            "dueAt": _utc(one.due_at),
            "error": {"code": one.code, "node": one.node or None, "message": one.message, "hint": ""},
            "counts": one.counts,
        }
        for one in list_failed_attempts(run)
    ]
    return {"maxAttempts": run.max_attempts, "failedAttempts": failed} if failed else {}


def _holds(run: Run) -> dict[str, Any]:
    """Return why the run was held, and the decisions; empty if it never was held."""
    holds = HeldLoad.objects.filter(run=run).order_by("attempt")
    return {"holds": [_hold(hold) for hold in holds]} if holds else {}


def _hold(hold: HeldLoad) -> dict[str, Any]:
    held = hold.held
    return {
        "node": hold.node,
        "attempt": hold.attempt,
        "reasons": [asdict(reason) for reason in held.reasons],
        "effect": held.effect.to_json(),
        "heldAt": _utc(hold.held_at),
        "expiresAt": _utc(hold.expires_at),
        "decision": hold.decision or None,
        "decidedAt": _utc(hold.decided_at),
        "decidedBy": hold.decided_as or None,
        "reason": hold.reason or None,
    }


def _effects(run: Run, *, sees_values: bool) -> dict[str, Any]:
    """Return the effects of a preview, by target. `samples` is null without the right to see values, and once they have
    expired."""
    if not run_kind_of(run).shows_effects:
        return {}
    encrypted = dict(EffectSample.objects.filter(run=run).values_list("node", "encrypted")) if sees_values else {}
    effects = [
        {**effect.to_json(), "samples": _samples(run, encrypted.get(effect.node))}
        for effect in run.stored_report.effects
    ]
    return {"kind": run.kind, "nothingNew": run.nothing_new, "effects": effects}


def _rows(run: Run, *, sees_values: bool) -> dict[str, Any]:
    """Return the results of a run over rejected rows. `results` is null without the right to see values, and once they
    have expired."""
    counts = dict(run.stored_report.row_results)
    if not counts:
        return {}
    encrypted = EffectSample.objects.filter(run=run, node="").values_list("encrypted", flat=True).first()
    results = _samples(run, encrypted if sees_values else None)
    return {"kind": run.kind, "rows": {"counts": counts, "results": results}}


def _samples(run: Run, encrypted: str | None) -> list[dict[str, Any]] | None:
    return None if encrypted is None else json.loads(decrypt(encrypted, f"preview {run.pk}"))


def _node(node: NodeRun) -> dict[str, Any]:
    counts = {name: value for name in COUNTS if (value := getattr(node, name)) is not None}
    return {
        "id": node.node,
        "kind": node.kind,
        **{to_camel(name): value for name, value in counts.items()},
        "durationMs": node.duration_ms,
        **({"joins": node.joins} if node.joins else {}),
        **({"branches": node.branches} if node.branches else {}),
    }


def _rule(rule: RuleCount) -> dict[str, Any]:
    return {
        "node": rule.node,
        "rule": rule.rule,
        "type": rule.type,
        "field": rule.field,
        "onFail": rule.on_fail,
        "violations": rule.violations,
        "evaluated": rule.evaluated,
    }


def run_error(run: Run, *, sees_values: bool = False) -> dict[str, str | None] | None:
    """Return the run's error. `detail` is the database's own message, for users who may see row values and if it adds
    to `message`."""
    if not run.error_code:
        return None
    detail = _error_detail(run) if sees_values else ""
    return {
        "code": run.error_code,
        "node": run.error_node or None,
        "message": run.error_message,
        "hint": run.error_hint,
        **({"detail": detail} if detail else {}),
    }


def _error_detail(run: Run) -> str:
    """Return the database's message; empty if its key is missing, because the rest of the run must still be shown."""
    with suppress(SecretUnreadable):
        return redact(decrypt(run.error_detail, f"run {run.name}")) if run.error_detail else ""
    return ""


def _utc(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None
