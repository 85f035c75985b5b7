"""Plan the changes of a project, including those in databases."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.conf import settings

from flowapp.accounts.models import Workspace
from flowapp.connections.allowing import allowances_of
from flowapp.manifests.comparing_connections import Environment, compare_connections
from flowapp.manifests.comparing_pipelines import compare_pipelines, list_of_others, list_paused, list_unmanaged
from flowapp.manifests.connection_kinds import declared_fields
from flowapp.manifests.states import WorkspaceState, read_state
from ir.manifests.plan import PLAN_SCHEMA_ID, ConnectionChange, PipelineChange, Plan
from ir.manifests.project import Project
from ir.manifests.reading import read_project

if TYPE_CHECKING:
    from flowapp.manifests.structure import Findings

_VOLATILE = {"tables", "problems", "estimatedRows", "neverRan", "line"}


def parse_project(workspace: Workspace, files: Mapping[str, str | bytes]) -> Project:
    """Parse a project with the permissions of this workspace. Raises InvalidProject."""
    return read_project(files, streaming=settings.FLOW_STREAMING_ENABLED, allowances=allowances_of(workspace))


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with the project and the state of the workspace from which it was made."""

    plan: Plan
    project: Project
    state: WorkspaceState


def make_plan(workspace: Workspace, project: Project, environment: Environment) -> Planned:
    """Return the changes that applying the project would make. Nothing is written. `environment` contains the
    secrets."""
    state = read_state(workspace, project.name)
    connections = list(compare_connections(project, state, environment))
    pipelines = _with_findings(list(compare_pipelines(project, state)), project, state)
    plan = Plan.of(
        schema_uri=PLAN_SCHEMA_ID,
        project=project.name,
        version=project.version,
        workspace=workspace.slug,
        fingerprint=_fingerprint(connections, pipelines),
        summary=_summary(project, connections, pipelines),
        connections=connections,
        pipelines=pipelines,
        paused=list_paused(project, state),
        unmanaged=list_unmanaged(project, state),
        others=list_of_others(project, state),
        warnings=[warning.to_json() for warning in project.warnings],
    )
    return Planned(plan, project, state)


def _with_findings(changes: list[PipelineChange], project: Project, state: WorkspaceState) -> list[PipelineChange]:
    """Add the findings of databases to new and changed pipelines."""
    asked = [project.pipelines[c.id] for c in changes if c.action not in ("removed", "adopted")]
    if not asked:
        return changes
    from flowapp.manifests.structure import ask_databases, find  # a plan without changes queries no database

    coming = {name: str(declared_fields(known.spec)["kind"]) for name, known in project.connections.items()}
    databases = ask_databases(state.workspace, asked, state.connections, coming)
    wanted = {pipeline.id: pipeline for pipeline in asked}
    return [
        _with_finding(change, find(wanted[change.id], databases, has_loaded=not change.never_ran))
        if change.id in wanted
        else change
        for change in changes
    ]


def _with_finding(change: PipelineChange, found: Findings) -> PipelineChange:
    known = {"tables": found.tables, "problems": found.problems, "estimated_rows": found.estimated_rows}
    return change.model_copy(update={name: value for name, value in known.items() if value is not None})


def _summary(project: Project, connections: list[ConnectionChange], pipelines: list[PipelineChange]) -> dict[str, int]:
    counts = Counter(change.action for change in pipelines)
    declared = sum(1 for change in pipelines if change.id in project.pipelines)
    return {
        "new": counts["new"],
        "changed": counts["changed"],
        "restored": counts["restored"],
        "removed": counts["removed"],
        "drifted": sum(1 for change in pipelines if change.drift is not None),
        "adopted": counts["adopted"],
        "unchanged": len(project.pipelines) - declared,
        "connections": len(connections),
    }


def _fingerprint(connections: list[ConnectionChange], pipelines: list[PipelineChange]) -> str:
    """Return a hash of the changes, without findings of databases, which may differ from minute to minute."""
    parts = [change.to_document() for change in (*connections, *pipelines)]
    stable = [{key: value for key, value in part.items() if key not in _VOLATILE} for part in parts]
    return hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()
