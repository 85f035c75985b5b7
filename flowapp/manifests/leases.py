"""Which `flow serve` applies a project, so that two of them do not undo each other's changes."""

from __future__ import annotations

from django.db.models import Q

from flowapp.accounts.models import Workspace
from flowapp.clock import Now, from_now
from flowapp.manifests.models import ServedProject

LEASE_SECONDS = 10.0


def hold_project(workspace: Workspace, project: str, owner: str) -> bool:
    """Take or renew the lease of a project; False while another process has it."""
    fresh = {"owner": owner, "until": from_now(LEASE_SECONDS)}
    ServedProject.objects.bulk_create(
        [ServedProject(workspace=workspace, project=project, **fresh)], ignore_conflicts=True
    )
    served = ServedProject.objects.filter(Q(owner=owner) | Q(until__lte=Now()), workspace=workspace, project=project)
    return bool(served.update(**fresh))


def release_projects(owner: str) -> None:
    """End all leases of a process, so that another one need not wait."""
    ServedProject.objects.filter(owner=owner).delete()
