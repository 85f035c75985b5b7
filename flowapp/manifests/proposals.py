"""Proposals: a user proposes a project, another approves it, and a user applies, discards or reverts it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from flowapp.accounts.access import RoleTooLow
from flowapp.accounts.models import User, Workspace
from flowapp.accounts.roles import is_at_least
from flowapp.clock import Now
from flowapp.manifests.applying import Actor, Applied, Options, Report, apply_plan
from flowapp.manifests.comparing_connections import Environment
from flowapp.manifests.models import AppliedPipeline, Proposal, ProposalState
from flowapp.manifests.planning import Planned, make_plan, parse_project
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import restore_version, set_archived
from ir.errors import FlowError
from ir.manifests.plan import Plan

Origin = Literal["upload", "folder", "command line", "flow serve"]
NEWEST_FIRST = ("-proposed_at", "id")
OPEN = (ProposalState.PROPOSED, ProposalState.APPROVED, ProposalState.APPLYING, ProposalState.PARTIAL)
APPLICABLE = (ProposalState.APPROVED, ProposalState.APPLYING, ProposalState.PARTIAL)
REVERTIBLE = (ProposalState.APPLIED, ProposalState.PARTIAL)


def list_proposals(workspace: Workspace) -> QuerySet[Proposal]:
    """List proposals and applies, newest first, without their files, plans and steps, which may be large."""
    people = ("proposed_by", "approved_by", "applied_by", "closed_by")
    found = Proposal.objects.filter(workspace=workspace).select_related(*people)
    return found.defer("files", "plan", "steps").order_by(*NEWEST_FIRST)


def get_proposal(workspace: Workspace, proposal_id: UUID | str) -> Proposal:
    """Return a proposal of this workspace. Raises FlowError."""
    try:
        return Proposal.objects.get(workspace=workspace, pk=UUID(str(proposal_id)))
    except (Proposal.DoesNotExist, ValueError):
        raise FlowError("proposal.unknown", "There is no such plan here.", hint="The Plan page lists them.") from None


def propose(planned: Planned, origin: Origin, user: User | None) -> Proposal:
    """Store a project with its plan."""
    return Proposal.objects.create(
        workspace=planned.state.workspace,
        project=planned.project.name,
        origin=origin,
        files=dict(planned.project.texts),
        plan=planned.plan.to_document(),
        fingerprint=planned.plan.fingerprint,
        proposed_by=user,
    )


def plan_of(proposal: Proposal, environment: Environment) -> Planned:
    """Plan the files of a proposal against the current workspace."""
    return make_plan(proposal.workspace, parse_project(proposal.workspace, proposal.files), environment)


def approve(proposal: Proposal, plan: Plan, actor: Actor) -> None:
    """Approve the current plan. Raises RoleTooLow and FlowError."""
    if "admin" in plan.needs and not is_at_least(actor.role, "admin"):
        raise RoleTooLow(actor.role, "admin", proposal.workspace)
    _move(
        proposal,
        (ProposalState.PROPOSED, ProposalState.APPROVED),
        ProposalState.APPROVED,
        plan=plan.to_document(),
        fingerprint=plan.fingerprint,
        approved_by=actor.user,
        approved_at=Now(),
    )


def apply_proposal(
    proposal: Proposal, planned: Planned, environment: Environment, actor: Actor, options: Options
) -> Applied:
    """Apply an approved plan, or continue a partial one. Raises FlowError `plan.changed` if the workspace has changed
    since the approval."""
    if proposal.state not in APPLICABLE:
        raise _wrong_state(proposal)
    if proposal.state == ProposalState.APPROVED and planned.plan.fingerprint != proposal.fingerprint:
        raise FlowError(
            "plan.changed",
            "The workspace has changed since this plan was approved.",
            hint="Review the current plan, and approve it again.",
        )
    return apply_plan(planned, environment, proposal, actor, options)


def apply_project(
    planned: Planned,
    environment: Environment,
    actor: Actor,
    options: Options,
    report: Report = lambda step: None,
    origin: Origin = "command line",
) -> Applied:
    """Apply a project from the command line, which counts as approval. A plan without changes leaves no record."""
    if planned.plan.is_empty:
        return Applied()
    proposal = propose(planned, origin, actor.user)
    applied = apply_plan(planned, environment, proposal, actor, options, report)
    if not applied.steps:
        proposal.delete()
    return applied


def discard(proposal: Proposal, actor: Actor) -> None:
    """Discard a proposal. Raises FlowError."""
    _move(proposal, OPEN, ProposalState.DISCARDED, closed_by=actor.user, closed_at=Now())


def revert(proposal: Proposal, actor: Actor) -> list[str]:
    """Restore the versions of pipelines before an apply; return the ids of pipelines that were changed since and are
    not reverted.

    New pipelines are archived, archived ones restored. Connections are not reverted. The files still differ, so the
    next plan shows drift. Raises FlowError."""
    with transaction.atomic():
        _move(proposal, REVERTIBLE, ProposalState.REVERTED, closed_by=actor.user, closed_at=Now())
        return [step["id"] for step in reversed(proposal.steps) if not _revert_step(proposal, step, actor)]


def _revert_step(proposal: Proposal, step: Mapping[str, Any], actor: Actor) -> bool:
    """Revert one step; return False if the pipeline was changed since."""
    if step["kind"] != "pipeline" or step["action"] == "adopted":
        return True
    pipeline = Pipeline.objects.filter(workspace_id=proposal.workspace_id, slug=step["id"]).first()
    if pipeline is None or not _is_as_applied(pipeline, step["after"]):
        return False
    if step["action"] == "removed":
        set_archived(pipeline, False)
    elif step["before"] is None or step["action"] == "restored":
        set_archived(pipeline, True)
    elif step["before"] != step["after"]:
        restore_version(pipeline, step["before"], actor.user, role=actor.role)
    return True


def _is_as_applied(pipeline: Pipeline, number: int) -> bool:
    """Return whether the newest version is the one that was applied. A pipeline that was deleted and created again has
    the same numbers, but its version is newer than the record of the apply."""
    record = AppliedPipeline.objects.filter(workspace_id=pipeline.workspace_id, slug=pipeline.slug).first()
    if record is None or pipeline.latest_number != number:
        return False
    return pipeline.versions.filter(number=number, created_at__lte=record.applied_at).exists()


def _move(proposal: Proposal, before: Collection[ProposalState], after: ProposalState, **changes: Any) -> None:
    """Change the state in one statement, so that of two users who decide at the same time, one is refused. Raises
    FlowError."""
    if not Proposal.objects.filter(pk=proposal.pk, state__in=before).update(state=after, **changes):
        proposal.refresh_from_db(fields=["state"])
        raise _wrong_state(proposal)


def _wrong_state(proposal: Proposal) -> FlowError:
    return FlowError(
        "proposal.state",
        f"The plan is {proposal.state}, so that this is no longer possible.",
        hint="Reload the page.",
    )
