"""Synchronize a workspace with the files of a project: plan and apply when files change, and at intervals.

A change made in the browser is not overwritten unless `Options.force` is set, as with `flow apply`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from flowapp.accounts.models import Workspace
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.manifests.applying import Actor, Applied, Options
from flowapp.manifests.comparing_connections import Environment
from flowapp.manifests.folders import FolderState, folder_state, read_folder
from flowapp.manifests.leases import LEASE_SECONDS, hold_project, release_projects
from flowapp.manifests.planning import make_plan, parse_project
from flowapp.manifests.proposals import apply_project
from flowapp.processes.heartbeats import process_name
from ir.errors import FlowError
from ir.manifests.diagnostics import InvalidProject
from ir.manifests.project import Project

REVIEW_SECONDS = 60.0
"""The time until a change made in the browser is detected."""
RETRY_SECONDS = 10.0
"""The time until a failed change is retried, for example because a database did not respond."""
LONGEST_NODE = 63

State = Literal["applied", "refused", "failed", "invalid", "waiting"]


@dataclass(frozen=True, slots=True)
class Served:
    """The result of one check of the project. `waiting` means that another process serves the project."""

    state: State
    applied: Applied = field(default_factory=Applied)
    error: FlowError | None = None

    @property
    def problems(self) -> list[tuple[str, str]]:
        """The differences between workspace and project, each with a hint."""
        if isinstance(self.error, InvalidProject):
            found = [one for one in self.error.diagnostics if one.is_error]
            return [(f"{one.place}: {one.diagnostic.message}", one.diagnostic.hint) for one in found]
        if self.error is not None:
            return [(self.error.message, self.error.hint)]
        left = (*self.applied.failed, *self.applied.refused)
        return [(f"{one.kind} {one.id}: {one.message}", one.hint) for one in left]


class LeaseLost(Exception):
    """Another process serves the project now."""


class ProjectServer:
    """Serves one project. `look` is called repeatedly; it returns at once if there is nothing to do."""

    def __init__(self, workspace: Workspace, folder: Path, environment: Environment, options: Options) -> None:
        self.workspace, self.folder = workspace, folder
        self.owner = process_name()
        self._environment, self._options = environment, options
        self._seen: FolderState | None = None
        self._converged: FolderState | None = None
        self._due = self._renew_at = 0.0
        self._texts: Mapping[str, bytes] = {}
        self._project: Project | None = None
        self._reported: list[tuple[str, str]] | None = None
        self._refused: tuple[str, Served] | None = None

    @property
    def name(self) -> str:
        """The name of the project, or of its folder until the files are valid."""
        return self._project.name if self._project is not None else self.folder.resolve().name

    def look(self) -> Served | None:
        """Apply if files have changed or a review is due. Raises DatabaseError."""
        state = folder_state(self.folder)
        is_steady, self._seen = state == self._seen, state
        if state != self._converged:
            if self._converged is not None and not is_steady:
                return None  # the files are still being written
        elif not self._is_due():
            return None
        # Set before reading, so that changes in the meantime are detected by the next call.
        self._converged = state
        self._due = time.monotonic() + RETRY_SECONDS  # also if this raises
        served = self._converge()
        self._due = time.monotonic() + _PAUSES[served.state]
        self._report_health(served)
        return served

    def close(self) -> None:
        """Let another process serve the project."""
        release_projects(self.owner)

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now >= self._due:
            return True
        if self._project is None or now < self._renew_at:
            return False
        return not self._hold(self._project)

    def _converge(self) -> Served:
        try:
            project = self._read()
            if not self._hold(project):
                return Served("waiting")
            planned = make_plan(self.workspace, project, self._environment)
            if self._refused is not None and self._refused[0] == planned.plan.fingerprint:
                return self._refused[1]  # applying it again would store the plan with all files, and delete it
            self._refused = None
            applied = apply_project(
                planned, self._environment, Actor(), self._options, lambda _: self._keep(project), "flow serve"
            )
        except LeaseLost:
            return Served("waiting")
        except InvalidProject as error:
            return Served("invalid", error=error)
        except FlowError as error:
            return Served("failed", error=error)
        served = Served("failed" if applied.failed else "refused" if applied.refused else "applied", applied)
        if served.state == "refused" and not applied.steps:
            self._refused = planned.plan.fingerprint, served
        return served

    def _read(self) -> Project:
        """Return the project. It is parsed again only if a text has changed. Raises FlowError."""
        texts = read_folder(self.folder)
        if self._project is None or texts != self._texts:
            self._texts = {}
            project = parse_project(self.workspace, texts)
            if self._project is not None and project.name != self._project.name:
                release_projects(self.owner)
            self._texts, self._project = texts, project
        return self._project

    def _hold(self, project: Project) -> bool:
        self._renew_at = time.monotonic() + LEASE_SECONDS / 3
        return hold_project(self.workspace, project.name, self.owner)

    def _keep(self, project: Project) -> None:
        """Renew the lease while changes are made. Raises LeaseLost."""
        if time.monotonic() >= self._renew_at and not self._hold(project):
            raise LeaseLost

    def _report_health(self, served: Served) -> None:
        """Raise an alert for new problems, and resolve it when there are none."""
        problems = served.problems
        if served.state == "waiting" or problems == self._reported:
            return
        self._reported = problems
        if not problems:
            for name in {self.name, self.folder.resolve().name}:
                resolve_by("project.applied", workspace_id=self.workspace.pk, node=name[:LONGEST_NODE])
            return
        message, hint = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise_alert(
            "project.not_applied",
            "warning" if served.state == "refused" else "error",
            f"Project {self.name}: {message}{more}",
            hint,
            workspace=self.workspace,
            node=self.name[:LONGEST_NODE],
        )


_PAUSES: dict[State, float] = {
    "applied": REVIEW_SECONDS,
    "refused": REVIEW_SECONDS,
    "invalid": REVIEW_SECONDS,
    "failed": RETRY_SECONDS,
    "waiting": LEASE_SECONDS / 4,
}
"""Seconds until the next check of unchanged files."""
