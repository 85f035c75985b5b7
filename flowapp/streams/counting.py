"""Count the windows of a stream. Each is counted once, in the transaction that records its commit, and nothing grows
with their number."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from django.db.models import F
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from executors.api import LoadCommit
from executors.model import RuleCount
from executors.report import NodeReport, RunReport, TargetCounts
from flowapp.clock import Now
from flowapp.runs import models as runs
from flowapp.runs.events import rules_counted
from flowapp.runs.models import CommitRecord, NodeRun, Run, RunKind
from flowapp.streams.models import Stream, StreamHour

_COUNTS = tuple(name for name in NodeReport.__dataclass_fields__ if name.startswith("rows_"))


def count_window(run: Run, commit: LoadCommit) -> None:
    """Count the window of a commit, unless it is counted already. The caller holds the claim of the run."""
    if run.kind != RunKind.STREAM:
        return
    state = _state_of(commit)
    stream = Stream.objects.filter(pipeline_id=run.pipeline_id).first()
    if stream is None or not state or stream.counted == state:
        return
    now = timezone.now()
    _count_hour(stream, commit, now)
    for position, node in enumerate([*commit.record.nodes, commit.node_report]):
        _add_node(run, node, position)
    _add_rules(run, commit.record.rules)
    stored = Coalesce("quarantine_rows", 0) + commit.counts.quarantine_rows
    Run.objects.filter(pk=run.pk).update(quarantine_rows=stored, evaluated=True)
    CommitRecord.objects.filter(run=run, node=commit.node).update(committed_at=Now())
    Stream.objects.filter(pk=stream.pk).update(
        counted=state, window=_window(commit, now), **_current_to(stream, json.loads(state))
    )


def _state_of(commit: LoadCommit) -> str:
    return next((one.state.value for one in commit.record.sources if one.state is not None), "")


def _current_to(stream: Stream, state: dict[str, Any]) -> dict[str, datetime]:
    """Return how far the target is after a window that has not read everything: to its newest transaction."""
    if not state.get("more"):
        return {}
    committed = datetime.fromtimestamp(state["committed_at"], UTC)
    return {"current_to": max(committed, stream.current_to or committed)}


def _window(commit: LoadCommit, now: datetime) -> dict[str, Any]:
    counts = commit.counts
    return {
        "at": now.isoformat(),
        "rows": commit.record.input.rows_read or 0,
        "inserted": counts.inserted,
        "updated": counts.updated,
        "deleted": counts.deleted,
        "rejected": commit.record.input.rows_rejected or 0,
    }


def _count_hour(stream: Stream, commit: LoadCommit, now: datetime) -> None:
    window = _window(commit, now)
    lag = max(0.0, (now - stream.current_to).total_seconds()) if stream.current_to else 0.0
    hour, _ = StreamHour.objects.get_or_create(
        stream=stream,
        hour=now.replace(minute=0, second=0, microsecond=0),
        defaults={"workspace_id": stream.workspace_id},
    )
    added: dict[str, Any] = {
        name: F(name) + window[name] for name in ("rows", "inserted", "updated", "deleted", "rejected")
    }
    StreamHour.objects.filter(pk=hour.pk).update(
        windows=F("windows") + 1, worst_lag=Greatest("worst_lag", lag), **added
    )


def _add_node(run: Run, node: NodeReport, position: int) -> None:
    counts = {name: value for name in _COUNTS if (value := getattr(node, name)) is not None}
    stored = NodeRun.objects.filter(run=run, node=node.id).first()
    if stored is None:
        NodeRun.objects.create(
            workspace_id=run.workspace_id, run=run, node=node.id, kind=node.kind, position=position, **counts
        )
        return
    sums = {name: (getattr(stored, name) or 0) + value for name, value in counts.items()}
    NodeRun.objects.filter(pk=stored.pk).update(**sums, duration_ms=stored.duration_ms + node.duration_ms)


def _add_rules(run: Run, rules: tuple[RuleCount, ...]) -> None:
    before = list(runs.RuleCount.objects.filter(run=run).order_by("position"))
    after = {(rule.node, rule.rule): rule for rule in runs.RuleCount.objects.filter(run=run).order_by("position")}
    for rule in rules:
        known = after.get((rule.node, rule.rule_id))
        if known is None:
            known = after[rule.node, rule.rule_id] = runs.RuleCount(
                workspace_id=run.workspace_id,
                run=run,
                position=len(after),
                node=rule.node,
                rule=rule.rule_id,
                type=rule.type,
                field=rule.field,
                on_fail=rule.on_fail,
                violations=0,
                evaluated=None if rule.evaluated is None else 0,
            )
        known.violations += rule.violations
        if rule.evaluated is not None:
            known.evaluated = (known.evaluated or 0) + rule.evaluated
        known.save()
    rules_counted(run, before, list(after.values()))


def report_of(run: Run) -> RunReport:
    """Return the report of a stream's run: the counts of all its windows."""
    nodes = [
        NodeReport(node.node, node.kind, duration_ms=node.duration_ms, **node.counts)  # type: ignore[arg-type]
        for node in NodeRun.objects.filter(run=run).order_by("position")
    ]
    rules = [
        RuleCount(rule.node, rule.rule, rule.type, rule.field, rule.on_fail, rule.violations, evaluated=rule.evaluated)
        for rule in runs.RuleCount.objects.filter(run=run).order_by("position")
    ]
    targets = {node.id: TargetCounts(nodes=nodes, rules=rules) for node in nodes if node.kind == "target"}
    stored = Run.objects.values_list("quarantine_rows", flat=True).get(pk=run.pk) or 0
    return RunReport(targets, nodes, rules, quarantine_rows=stored, nothing_new=not nodes)
