"""Asking a run's targets: raise the fence, so that no load of it can commit any more, then look for what did."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from django.db import transaction

from executors.errors import LeaseLost
from executors.model import LoadCommit
from executors.postgres import meta
from executors.postgres.client import connect, translate
from executors.postgres.fences import raise_fence
from flowapp.connections.services import resolve_connections
from flowapp.pipelines.documents import read_document
from flowapp.runs.leases import next_token
from flowapp.runs.models import Run
from flowapp.runs.purposes import purpose_of


def fence_and_find(run: Run) -> list[LoadCommit]:
    """The run's commits in all its targets, none of which can change after this.

    A load that is just committing holds the fence's row, so raising the fence waits for it, then ends its session.
    Raises a FlowError when a target cannot be asked.
    """
    document = read_document(run.document)
    connections = resolve_connections(run.workspace, document)
    token = _new_token(run.pipeline_id)
    found: list[LoadCommit] = []
    for target in document.targets():
        with translate(target.id), connect(connections[target.connection], autocommit=True) as connection:
            # Shorter than a lease: a load that a stopped process holds open is asked for again later.
            connection.execute("SET lock_timeout = '5s'")
            meta.ensure_meta(connection)
            # A newer token than ours bars the run's loads just as well.
            with suppress(LeaseLost):
                raise_fence(connection, str(run.workspace_id), document.id, target.id, token)
            found += [c for c in meta.find_commits(connection, str(run.pk)) if c.node == target.id]
    return found


def has_loaded_all(run: Run, commits: Sequence[LoadCommit]) -> bool:
    only = purpose_of(run).backup(run) or purpose_of(run).rows(run)
    targets = {only.node} if only else {t.id for t in read_document(run.document).targets()}
    return targets <= {commit.node for commit in commits}


def _new_token(pipeline_id: UUID) -> int:
    with transaction.atomic():
        return next_token(pipeline_id)
