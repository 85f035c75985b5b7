"""Query a run's targets: raise the fence, so that no load of the run can commit any more, then look for commits."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from executors.api import LoadCommit, RunRef, fence_and_find_commits
from flowapp.connections.services import resolve_connections, resolve_stores
from flowapp.pipelines.documents import read_document
from flowapp.runs.leases import next_token
from flowapp.runs.models import Run
from flowapp.runs.run_kinds import run_kind_of


def fence_and_find(run: Run) -> list[LoadCommit]:
    """Return the run's commits in all its targets. None of them can change afterwards.

    Raises FlowError if a target cannot be queried.
    """
    document = read_document(run.document)
    connections, stores = resolve_connections(run.workspace, document), resolve_stores(run.workspace, document)
    tenant, token = str(run.workspace_id), _new_token(run.pipeline_id)
    found: list[LoadCommit] = []
    chunk = run_kind_of(run).chunk_key(run)
    for target in document.targets():
        attempt = RunRef(str(run.pk), tenant, document.id, target.id, run.attempt, token, chunk)
        found += fence_and_find_commits(target, attempt, connections, stores)
    return found


def has_loaded_all(run: Run, commits: Sequence[LoadCommit]) -> bool:
    return targets_of(run) <= {commit.node for commit in commits}


def targets_of(run: Run) -> set[str]:
    """Return the targets that the run loads."""
    only = run_kind_of(run).backup(run) or run_kind_of(run).rows(run)
    if only:
        return {only.node}
    if undo := run_kind_of(run).undo(run):
        return set(undo.rows)
    return set(run.only_targets) or {target.id for target in read_document(run.document).targets()}


def missing_targets(run: Run) -> set[str]:
    """Return the targets of a run that it has not loaded."""
    return targets_of(run) - set(run.commits.values_list("node", flat=True))


def _new_token(pipeline_id: UUID) -> int:
    with transaction.atomic():
        return next_token(pipeline_id)
