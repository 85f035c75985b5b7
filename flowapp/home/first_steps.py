"""The first steps in a workspace, and which of them are done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import Sum
from django.urls import reverse

from flowapp.accounts.roles import is_at_least
from flowapp.connections.models import Connection
from flowapp.pipelines.selectors import list_pipelines
from flowapp.quarantine.models import RowDecision
from flowapp.runs.models import LOADED, NodeRun, Run, RunKind
from ir.connectors import loadable_kinds
from ir.words import counted

if TYPE_CHECKING:
    from flowapp.accounts.models import Membership, Workspace
    from flowapp.pipelines.models import Pipeline


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `links` lead to the pages where it is done; they are empty until the previous steps are done."""

    title: str
    text: str
    is_done: bool
    links: Sequence[Link] = ()


def list_steps(membership: Membership | None) -> list[Step]:
    """Return the steps for a member. Empty if all are done, if the member has hidden them, and for viewers."""
    if membership is None or membership.first_steps_hidden_at or not is_at_least(membership.role, "editor"):
        return []
    workspace = membership.workspace
    pipeline = list_pipelines(workspace).order_by("-created_at", "id").first()
    run = _newest_load(workspace)
    steps = [
        _connect(workspace, membership.role),
        _create(workspace, pipeline),
        _run(workspace, pipeline, run),
        _look(membership, run),
    ]
    return [] if all(step.is_done for step in steps) else steps


def _connect(workspace: Workspace, role: str) -> Step:
    is_done = Connection.objects.filter(workspace=workspace, kind__in=loadable_kinds()).exists()
    if not is_at_least(role, "admin"):
        return Step("Connect a database", "An admin of the workspace adds the database to load into.", is_done)
    url = reverse("connections:list", args=[workspace.slug])
    text = "Add the PostgreSQL database to load into."
    return Step("Connect a database", text, is_done, [Link("Open Connections", url)])


def _create(workspace: Workspace, pipeline: Pipeline | None) -> Step:
    text = "Drop a file or choose what to read, and the table to load."
    url = reverse("starting:home", args=[workspace.slug])
    return Step("Create a pipeline", text, pipeline is not None, [Link("New pipeline", url)])


def _run(workspace: Workspace, pipeline: Pipeline | None, run: Run | None) -> Step:
    text = "A run loads all valid rows in one transaction, or none."
    links = []
    if pipeline is not None:
        url = reverse("pipelines:edit", args=[workspace.slug, pipeline.slug])
        links = [Link(f"Open {pipeline.name or pipeline.slug}", url)]
    return Step("Run it", text, run is not None, links)


def _look(membership: Membership, run: Run | None) -> Step:
    title = "Look at the result"
    if run is None:
        return Step(title, "The run shows what was loaded and which rows were rejected.", is_done=False)
    slug = membership.workspace.slug
    links = [Link(f"Open run {run.name}", reverse("runs:detail", args=[slug, run.pk]))]
    rejected = _count_rejected(run)
    if not rejected:
        text = f"The newest run, {run.name}, rejected no row."
    else:
        text = f"The newest run, {run.name}, rejected {counted(rejected, 'row')}. You can fix and load them."
        links.append(Link("Fix rejected rows", reverse("quarantine:rows", args=[slug], query={"run": str(run.pk)})))
    return Step(title, text, _has_looked(membership), links)


def _newest_load(workspace: Workspace) -> Run | None:
    loads = Run.objects.filter(workspace=workspace, kind=RunKind.LOAD, state__in=LOADED)
    return loads.select_related("pipeline").order_by("-queued_at", "id").first()


def _count_rejected(run: Run) -> int:
    targets = NodeRun.objects.filter(run=run, kind="target")
    return targets.aggregate(rejected=Sum("rows_rejected"))["rejected"] or 0


def _has_looked(membership: Membership) -> bool:
    """Return whether the member has opened a result, or anybody has decided about rejected rows."""
    if membership.result_opened_at is not None:
        return True
    return RowDecision.objects.filter(workspace=membership.workspace).exists()
