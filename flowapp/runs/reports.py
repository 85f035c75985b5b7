"""Writing what the engine counted. Callers hold the run's lease in a transaction."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from django.db.models.functions import Now

from executors.model import HookReport, LoadCommit, NodeReport, RuleCount, RunReport
from flowapp.connections.secrets import encrypt
from flowapp.logs import redact
from flowapp.runs import models
from flowapp.runs.events import load_committed, rows_counted
from flowapp.runs.models import CommitRecord, EffectSample, NodeRun, Run


def save_report(run: Run, report: RunReport) -> dict[str, Any]:
    """Write nodes and rules as rows, over those of earlier attempts; returns the rest, for `Run.report`."""
    for position, node in enumerate(report.nodes):
        save_node(run, node, position)
    NodeRun.objects.filter(run=run).exclude(node__in=[node.id for node in report.nodes]).delete()
    models.RuleCount.objects.filter(run=run).delete()
    models.RuleCount.objects.bulk_create(_rule(run, i, rule) for i, rule in enumerate(report.rules))
    document = report.to_json()
    warnings = [{**w, "message": redact(w["message"])} for w in document["warnings"]]
    return {
        "checks": document["checks"],
        "quarantine": document["quarantine"],
        "warnings": warnings,
        "hooks": [hook_document(hook) for hook in report.hooks],
        "nothingNew": report.nothing_new,
        "nothingNewReason": report.nothing_new_reason,
        "evaluated": bool(report.target_counts),
        **_save_effects(run, report),
        **_save_rows(run, report),
    }


def _save_effects(run: Run, report: RunReport) -> dict[str, Any]:
    """What a preview counted. The values that it saw are kept apart, for a short while."""
    if not report.effects:
        return {}
    for effect in report.effects:
        encrypted = encrypt(json.dumps(effect.samples_json()))
        EffectSample.objects.update_or_create(
            run=run, node=effect.node, defaults={"workspace_id": run.workspace_id, "encrypted": encrypted, "at": Now()}
        )
    return {"effects": [effect.to_json() for effect in report.effects]}


ROWS = ""
"""What samples of rejected rows are kept under: they belong to no node."""


def _save_rows(run: Run, report: RunReport) -> dict[str, Any]:
    """What became of rejected rows, in numbers. What a check without a load found of each, which may hold values, is
    kept apart, for a short while."""
    if report.row_results:
        encrypted = encrypt(json.dumps(report.row_results))
        values = {"workspace_id": run.workspace_id, "encrypted": encrypted, "at": Now()}
        EffectSample.objects.update_or_create(run=run, node=ROWS, defaults=values)
    if not report.row_counts:
        return {}
    rows_counted(run, report.row_counts)
    return {"rows": report.row_counts}


def hook_document(hook: HookReport) -> dict[str, Any]:
    """A hook as `Run.report` keeps it."""
    document = hook.to_json()
    return document | {"message": redact(document["message"])}


def save_node(run: Run, report: NodeReport, position: int) -> None:
    """Write a node's counts over those of an earlier attempt."""
    values = asdict(report)
    node = values.pop("id")
    NodeRun.objects.update_or_create(
        run=run, node=node, defaults={**values, "workspace_id": run.workspace_id, "position": position}
    )


def save_commit(run: Run, commit: LoadCommit) -> None:
    """Note a load transaction; noting it again changes nothing but what was done since."""
    known = {"hooks_done": list(commit.hooks_done), "counts": dict(commit.counts)}
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
