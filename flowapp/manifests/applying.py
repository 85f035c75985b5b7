"""Apply a project: one connection or pipeline after the other, each in one transaction with its record.

A killed process leaves only complete steps. The next apply plans again and continues."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from django.db import transaction

from flowapp.accounts.models import User
from flowapp.accounts.roles import is_at_least
from flowapp.clock import Now
from flowapp.connections.services import add_connection, change_connection, remove_connection
from flowapp.manifests.comparing_connections import Environment, entered_fields
from flowapp.manifests.connection_kinds import declared_fields
from flowapp.manifests.models import AppliedConnection, AppliedPipeline, Proposal, ProposalState
from flowapp.manifests.planning import Planned
from flowapp.manifests.states import note_connection, note_pipeline, saved_document, saved_hash
from flowapp.pipelines.connection_use import connections_of
from flowapp.pipelines.services import save_version, set_archived
from ir.canonical import serialize
from ir.errors import FlowError
from ir.manifests.plan import ConnectionChange, Need, PipelineChange
from ir.manifests.project import Project

Kind = Literal["connection", "pipeline"]
Change = ConnectionChange | PipelineChange
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Actor:
    """The user who applies. The command line has no user and all rights."""

    user: User | None = None
    role: str = "admin"


@dataclass(frozen=True, slots=True)
class Options:
    """What the user has allowed: `force` overwrites changes made in the browser, `yes` archives and removes. `only` is
    the id of the one pipeline to apply, with the connections that it names."""

    force: bool = False
    yes: bool = False
    only: str | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A change that was not made, with the required option or role."""

    kind: Kind
    id: str
    code: str
    message: str
    hint: str

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "id": self.id, "code": self.code, "message": self.message, "hint": self.hint}


@dataclass
class Applied:
    """The result of an apply: changes made, changes that need an option or a role, and failed changes."""

    steps: list[dict[str, Any]] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    failed: list[Refusal] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "applied": self.steps,
            "refused": [refusal.to_json() for refusal in self.refused],
            "failed": [failure.to_json() for failure in self.failed],
        }


def apply_plan(
    planned: Planned,
    environment: Environment,
    proposal: Proposal,
    actor: Actor,
    options: Options,
    report: Report = lambda step: None,
) -> Applied:
    """Make the changes of a plan, as far as role and options allow. `proposal` records the steps; `report` is called
    before each step and after it. Raises FlowError `pipeline.unknown` if the project has no pipeline `only`."""
    changes = list(_in_order(planned, options.only))
    _close_killed(proposal)
    Proposal.objects.filter(pk=proposal.pk).update(
        state=ProposalState.APPLYING, applied_by=actor.user, applied_at=Now(), fingerprint=planned.plan.fingerprint
    )
    apply = _Apply(planned, environment, proposal, actor, Applied())
    for change in changes:
        report(f"before {_name_of(change)}")
        apply.attempt(change, options)
        report(f"after {_name_of(change)}")
    is_whole = not (apply.result.refused or apply.result.failed)
    state = ProposalState.APPLIED if is_whole else ProposalState.PARTIAL
    Proposal.objects.filter(pk=proposal.pk).update(state=state)
    return apply.result


def _close_killed(proposal: Proposal) -> None:
    """Mark applies of killed processes as partial."""
    others = Proposal.objects.filter(workspace_id=proposal.workspace_id, state=ProposalState.APPLYING)
    others.exclude(pk=proposal.pk).update(state=ProposalState.PARTIAL)


def _name_of(change: Change) -> str:
    return f"{_kind_of(change)} {_id_of(change)}"


def _kind_of(change: Change) -> Kind:
    return "connection" if isinstance(change, ConnectionChange) else "pipeline"


def _id_of(change: Change) -> str:
    return change.name if isinstance(change, ConnectionChange) else change.id


def _in_order(planned: Planned, only: str | None) -> Iterator[Change]:
    """Yield connections before the pipelines that need them, and removals last: pipelines before connections."""
    plan = planned.plan
    connections, pipelines = plan.connections, plan.pipelines
    if only is not None:
        connections, pipelines = _only(planned, only)
    yield from (change for change in connections if change.action != "removed")
    yield from (change for change in pipelines if change.action != "removed")
    yield from (change for change in pipelines if change.action == "removed")
    yield from (change for change in connections if change.action == "removed")


def _only(planned: Planned, only: str) -> tuple[list[ConnectionChange], list[PipelineChange]]:
    pipelines = [change for change in planned.plan.pipelines if change.id == only]
    declared = planned.project.pipelines.get(only)
    if declared is None and not pipelines:
        raise FlowError(
            "pipeline.unknown",
            f"The project has no pipeline {only!r}, and has brought none of that id.",
            hint="`flow plan` lists the pipelines of the project.",
        )
    named = connections_of(declared.document) if declared is not None else set()
    return [change for change in planned.plan.connections if change.name in named], pipelines


@dataclass
class _Apply:
    """One apply. Each change is made or refused, or has failed."""

    planned: Planned
    environment: Environment
    proposal: Proposal
    actor: Actor
    result: Applied

    @property
    def _project(self) -> str:
        return self.planned.project.name

    def attempt(self, change: Change, options: Options) -> None:
        if refusal := _refusal(change, self.actor, options):
            self.result.refused.append(refusal)
            return
        errors = [problem for problem in change.problems if problem.severity == "error"]
        if errors:
            first = errors[0]
            self._fail(change, first.code, first.message, first.hint)
            return
        try:
            with transaction.atomic():
                step = self._make(change)
                self._record(step)
        except FlowError as error:
            self._fail(change, error.code, error.message, error.hint)
        else:
            self.result.steps.append(step)

    def _fail(self, change: Change, code: str, message: str, hint: str) -> None:
        self.result.failed.append(Refusal(_kind_of(change), _id_of(change), code, message, hint))

    def _record(self, step: dict[str, Any]) -> None:
        # Without the files and the plan, which may be large.
        locked = Proposal.objects.select_for_update().only("steps").get(pk=self.proposal.pk)
        locked.steps = [*locked.steps, step]
        locked.save(update_fields=["steps"])

    def _make(self, change: Change) -> dict[str, Any]:
        made = self._connection(change) if isinstance(change, ConnectionChange) else self._pipeline(change)
        return {"kind": _kind_of(change), "id": _id_of(change), "action": change.action, **made}

    # --- connections ------------------------------------------------------------------------------------------

    def _connection(self, change: ConnectionChange) -> dict[str, Any]:
        workspace = self.planned.state.workspace
        if change.action == "removed":
            record = AppliedConnection.objects.filter(workspace=workspace, project=self._project, name=change.name)
            record.delete()
            if not self.planned.state.sharers.get(change.name):
                remove_connection(workspace, change.name)
            return {}
        spec = self.planned.project.connections[change.name].spec
        stored = self.planned.state.connections.get(change.name)
        if stored is None or change.action != "adopted":
            write = add_connection if stored is None else change_connection
            stored = write(workspace, change.name, entered_fields(spec, self.environment, stored))
        note_connection(self._project, stored, declared_fields(spec), self.actor.user)
        return {}

    # --- pipelines --------------------------------------------------------------------------------------------

    def _pipeline(self, change: PipelineChange) -> dict[str, Any]:
        current = self.planned.state.pipelines.get(change.id)
        before = current.version.number if current is not None and current.version is not None else None
        known = before or 0
        if change.action == "removed":
            set_archived(self.planned.state.pipelines[change.id].pipeline, True)
            record = AppliedPipeline.objects.filter(workspace=self.planned.state.workspace, slug=change.id)
            record.update(removed_at=Now(), applied_at=Now(), applied_by=self.actor.user)
            return {"before": before, "after": before}
        after = known if change.action == "adopted" else self._save(change, known)
        declared = self.planned.project.pipelines[change.id]
        note_pipeline(self.planned.state.workspace, self._project, declared, after, self.actor.user)
        return {"before": before, "after": after}

    def _save(self, change: PipelineChange, before: int) -> int:
        """Save the document unless the newest version has it already, and restore an archived pipeline."""
        current = self.planned.state.pipelines.get(change.id)
        document = self.planned.project.pipelines[change.id].document
        if current is not None and current.is_archived:
            set_archived(current.pipeline, False)
        if current is not None and current.is_equal(saved_hash(document)):
            return before
        version = save_version(
            self.planned.state.workspace,
            serialize(saved_document(document)),
            self.actor.user,
            _message(self.planned.project, change),
            expected_version=before,
            syntax="json",
            role=self.actor.role,
        )
        return version.number


def _message(project: Project, change: PipelineChange) -> str:
    version = f" {project.version}" if project.version else ""
    return f"Applied from {change.file}, project {project.name}{version}"


_REFUSALS: dict[Need | Literal["other_project"], tuple[str, str, str]] = {
    "force": (
        "plan.drift",
        "It was changed in the browser since the project was last applied.",
        "Accept the change with `flow export`, or overwrite it with --force.",
    ),
    "other_project": (
        "plan.other_project",
        "Another project has applied it.",
        "Remove it from one of the projects, or move it into this one with --force.",
    ),
    "yes": ("plan.needs_yes", "It would be archived or removed.", "Confirm that with --yes."),
    "admin": ("role.too_low", "Only an admin may apply this change.", "Ask an admin of the workspace to apply it."),
}


def _refusal(change: Change, actor: Actor, options: Options) -> Refusal | None:
    granted = {"force": options.force, "yes": options.yes, "admin": is_at_least(actor.role, "admin")}
    missing = next((need for need in change.needs if not granted[need]), None)
    if missing is None:
        return None
    is_of_another = missing == "force" and change.drift is not None and change.drift.kind == "other_project"
    code, message, hint = _REFUSALS["other_project" if is_of_another else missing]
    return Refusal(_kind_of(change), _id_of(change), code, message, hint)
