"""Restrict hooks that send custom SQL to a database: only admins may add them."""

from __future__ import annotations

import json

from flowapp.accounts.roles import is_at_least
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import PipelineVersion
from ir.errors import FlowError
from ir.pipeline import Pipeline as Document

NEEDED = "admin"
HookKey = tuple[str, str, str, str, str]


def require_hook_role(role: str, document: Document, newest: PipelineVersion | None) -> None:
    """Raise FlowError if the document has a guarded hook that the newest version lacks and `role` may not add it."""
    if is_at_least(role, NEEDED):
        return
    if new := sorted(_guarded(document) - _guarded_of(newest)):
        node, *_ = new[0]
        raise FlowError(
            "hook.needs_admin",
            f"Adding or changing an SQL hook in node {node} needs the role {NEEDED}. Your role is {role}.",
            hint="Ask an admin to save this version, or do not change SQL hooks, their node or its connection.",
            node=node,
        )


def _guarded_of(version: PipelineVersion | None) -> frozenset[HookKey]:
    try:
        return _guarded(read_document(version.document)) if version else frozenset()
    except FlowError:  # saved by a newer release: the author of the new version is responsible for all its hooks
        return frozenset()


def _guarded(document: Document) -> frozenset[HookKey]:
    """Return each guarded hook's position and everything that determines its effect."""
    return frozenset(
        (target.id, target.connection, target.schema_, placed.stage, json.dumps(placed.hook.to_document()))
        for target in document.targets()
        for placed in target.hooks()
        if placed.hook.needs_admin
    )
