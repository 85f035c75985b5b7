"""The statements that runs sent to their targets, verbatim."""

from __future__ import annotations

from dataclasses import dataclass

from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import CommitRecord, Run


@dataclass(frozen=True, slots=True)
class Sent:
    """The statements that a run sent to load one target."""

    run: Run
    node: str
    statements: list[str]


def sent_by(run: Run) -> list[Sent]:
    """Return the recorded statements that a run sent to its targets."""
    commits = CommitRecord.objects.filter(run=run).order_by("committed_at", "id")
    return [Sent(run, commit.node, commit.statements) for commit in commits if commit.statements]


def newest_sent(pipeline: Pipeline, node: str) -> Sent | None:
    """Return the statements of a target's newest load, if they were recorded."""
    commits = CommitRecord.objects.filter(pipeline=pipeline, node=node).select_related("run__version")
    commit = commits.order_by("-committed_at").first()
    if commit is None or not commit.statements:
        return None
    return Sent(commit.run, node, commit.statements)
