"""Requests a sample, and adds a proposal to the draft."""

from __future__ import annotations

from typing import Any

from flowapp.accounts.models import User
from flowapp.pipelines import drafts
from flowapp.pipelines.checking import read_value
from flowapp.pipelines.edits import find_node, require_node
from flowapp.pipelines.models import Draft, Pipeline
from flowapp.runs.models import Run, RunKind, Trigger
from flowapp.runs.services import queue_for
from flowapp.suggestions.selectors import is_going_on, last_sampling, read_rule
from ir.errors import FlowError


def take_sample(
    pipeline: Pipeline, trigger: Trigger, *, user: User | None = None, send: bool = True, draft_document: str = ""
) -> Run:
    """Queue a run that samples the source; with `draft_document` that of a draft. If the same sampling is
    already queued or running, it is returned."""
    last = last_sampling(pipeline)
    if send and last is not None and is_going_on(last) and last.draft_document == draft_document:
        return last
    return queue_for(RunKind.SAMPLE, pipeline, trigger, user=user, send=send, draft_document=draft_document)


def accept(draft: Draft, node: str, spec: Any, check: str = "") -> Draft:
    """Append a rule, or a dataset check of that kind, to a validate node. Raises FlowError."""
    if check:
        if check != "duplicateKey" or not isinstance(spec, dict):
            raise FlowError("rule.type_unknown", f"Unknown check {check!r}.", hint="Known: duplicateKey.")
    else:
        read_rule(spec)
    at, held = find_node(read_value(draft.text), node)
    if held.get("kind") != "validate":
        raise FlowError("node.unknown", f"{node} is not a validate node.", hint="Only validate nodes have rules.")
    added = _check_patch(str(at), held, check, spec) if check else _rule_patch(str(at), held, spec)
    patch = [require_node(at, held), *added]
    what = check or f"{spec['type']} {spec.get('field', '')}"
    return drafts.patch_draft(draft, patch, f"Add {what}".strip()[:200])


def _rule_patch(at: str, node: dict[str, Any], spec: Any) -> list[dict[str, Any]]:
    if isinstance(node.get("rowLevel"), list):
        return [{"op": "add", "path": f"{at}/rowLevel/-", "value": spec}]
    return [{"op": "add", "path": f"{at}/rowLevel", "value": [spec]}]


def _check_patch(at: str, node: dict[str, Any], check: str, spec: Any) -> list[dict[str, Any]]:
    """Return the patch for a dataset check: each key holds one check or a list of them."""
    checks = node.get("datasetLevel")
    if not isinstance(checks, dict):
        return [{"op": "add", "path": f"{at}/datasetLevel", "value": {check: spec}}]
    path, held = f"{at}/datasetLevel/{check}", checks.get(check)
    if held is None:
        return [{"op": "add", "path": path, "value": spec}]
    if isinstance(held, list):
        return [{"op": "add", "path": f"{path}/-", "value": spec}]
    return [{"op": "replace", "path": path, "value": [held, spec]}]
