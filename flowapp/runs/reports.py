"""Store what the engine counted. Callers hold the run's lease in a transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from executors.api import LoadCommit
from executors.model import RuleCount
from executors.report import NodeReport, RunReport
from flowapp.clock import Now
from flowapp.connections.secrets import encrypt
from flowapp.runs import models
from flowapp.runs.events import load_committed, rows_counted, rules_counted
from flowapp.runs.models import CommitRecord, EffectSample, NodeRun, Run
from flowapp.runs.stored_report import StoredReport


def save_report(run: Run, report: RunReport) -> dict[str, Any]:
    """Store nodes and rules as rows in place of those of earlier attempts, and the row values that a preview or a check
    has read. Return the changed columns of the run, for the caller to save."""
    for position, node in enumerate(report.nodes):
        save_node(run, node, position)
    NodeRun.objects.filter(run=run).exclude(node__in=[node.id for node in report.nodes]).delete()
    _save_rules(run, report.rules)
    for effect in report.effects:
        _keep_values(run, effect.node, effect.samples_json())
    if report.row_results:
        _keep_values(run, ROWS, report.row_results)
    if report.row_counts:
        rows_counted(run, report.row_counts)
    return {
        "quarantine_rows": report.quarantine_rows,
        "evaluated": bool(report.target_counts),
        "nothing_new": report.nothing_new,
        "report": StoredReport.of(report).to_json(),
    }


def _save_rules(run: Run, rules: Sequence[RuleCount]) -> None:
    stored = models.RuleCount.objects.filter(run=run)
    before, after = list(stored), [_rule(run, i, rule) for i, rule in enumerate(rules)]
    stored.delete()
    models.RuleCount.objects.bulk_create(after)
    rules_counted(run, before, after)


ROWS = ""
"""The node name under which samples of rejected rows are stored, because they belong to no node."""


def _keep_values(run: Run, node: str, values: Any) -> None:
    """Store row values separately, for a short time."""
    changes = {"workspace_id": run.workspace_id, "encrypted": encrypt(json.dumps(values)), "at": Now()}
    EffectSample.objects.update_or_create(run=run, node=node, defaults=changes)


def save_node(run: Run, report: NodeReport, position: int) -> None:
    """Store a node's counts in place of those of an earlier attempt."""
    values = asdict(report)
    node = values.pop("id")
    del values["taken"], values["is_partial"]  # only needed while the counts of targets are added up
    NodeRun.objects.update_or_create(
        run=run, node=node, defaults={**values, "workspace_id": run.workspace_id, "position": position}
    )


def save_commit(run: Run, commit: LoadCommit) -> None:
    """Record a load transaction. If it is recorded already, only what is known since changes."""
    known = {
        "hooks_done": list(commit.hooks_done),
        "rows_loaded": commit.counts.loaded,
        "statements": list(commit.record.statements),
    }
    first = {
        "workspace_id": run.workspace_id,
        "pipeline_id": run.pipeline_id,
        "attempt": commit.attempt,
        "token": commit.token,
        "committed_at": Now(),
        **known,
    }
    CommitRecord.objects.update_or_create(run=run, node=commit.node, defaults=known, create_defaults=first)
    load_committed(run, commit)


def _rule(run: Run, position: int, rule: RuleCount) -> models.RuleCount:
    return models.RuleCount(
        workspace_id=run.workspace_id,
        run=run,
        position=position,
        node=rule.node,
        rule=rule.rule_id,
        type=rule.type,
        field=rule.field,
        on_fail=rule.on_fail,
        violations=rule.violations,
        evaluated=rule.evaluated,
    )
