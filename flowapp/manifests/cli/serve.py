"""`flow serve`: a workspace follows the files of its project."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import FAILED, INVALID, REFUSED, show_error
from flowapp.cli.outcome import Outcome, show_lines, stdout, text_outcome
from flowapp.cli.parser import add_command
from flowapp.manifests.cli.plan import add_consents, add_folder
from flowapp.manifests.cli.show import show_applied, show_lines_of
from ir.errors import FlowError
from ir.manifests.diagnostics import InvalidProject

if TYPE_CHECKING:
    from flowapp.manifests.serving import ProjectServer, Served, State

POLL_SECONDS = 0.5


def add_parser(commands: Any) -> None:
    serve = add_command(commands, "serve", serve_folder, "apply a project of manifests whenever its files change")
    serve.epilog = (
        "Runs until Ctrl-C or SIGTERM. Exit status, after the last apply: 0 the workspace matches the project, 1 "
        "something failed, 2 invalid manifests, 3 something needs --force or --yes."
    )
    add_folder(serve)
    add_consents(serve)


def serve_folder(args: Namespace) -> Outcome:
    from flowapp.manifests.applying import Options
    from flowapp.manifests.folders import read_folder
    from flowapp.manifests.serving import ProjectServer

    folder = Path(args.folder)
    read_folder(folder)  # A folder that is not there at the start is a mistake, later it may be on its way.
    server = ProjectServer(current_workspace(), folder, os.environ, Options(force=args.force, yes=args.yes))
    say = _Speaker(server)
    say.begin()
    try:
        while True:
            _look(server, say)
            time.sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        _close(server)
    document = {"stopped": True, "project": server.name, "state": say.state, "changes": say.changes}
    outcome = text_outcome(document, "Stopped.")
    return Outcome(outcome.document, outcome.show, _STATUSES[say.state])


def _look(server: ProjectServer, say: _Speaker) -> None:
    from django.db import Error, connections

    try:
        served = server.look()
    except Error:
        connections.close_all()
        say.unreachable()
        return
    if served is not None:
        say.served(served)


def _close(server: ProjectServer) -> None:
    """The lease of a process that cannot let it go ends by itself."""
    from django.db import Error, connections

    connections.close_all()  # The signal may have come in the middle of a statement.
    try:
        server.close()
    except Error:
        connections.close_all()


class _Speaker:
    """Prints events, and repeated problems once. With --json it prints to stderr, because events are no result."""

    def __init__(self, server: ProjectServer) -> None:
        self._server = server
        self._last: object = None
        self.state: State | None = None
        self.changes = 0

    def begin(self) -> None:
        from flowapp.processes.heartbeats import count_alive

        folder, workspace = self._server.folder.resolve(), self._server.workspace.slug
        self._say(f"Serving {folder} in workspace {workspace}; Ctrl-C stops it.")
        missing = [role for role in ("scheduler", "worker") if not count_alive(role)]
        if missing:
            self._say(
                f"No {' and no '.join(missing)} is running, so that schedules start no runs. To start it: flow up"
            )

    def unreachable(self) -> None:
        self.state = "failed"
        if self._is_new("unreachable"):
            self._say("The control database does not answer; trying again.")

    def served(self, served: Served) -> None:
        self.state = served.state
        self.changes += len(served.applied.steps)
        if not self._is_new((served.state, served.problems)) and not served.applied.steps:
            return
        if served.state == "waiting":
            self._say("Another flow serve applies this project; this one takes over when it ends.")
        elif isinstance(served.error, InvalidProject):
            show_lines_of(stdout(), served.error)
            self._say("The workspace stays as it was last applied.")
        elif isinstance(served.error, FlowError):
            show_error(stdout(), served.error.to_json())
        else:
            show_applied(stdout(), served.applied)
            if served.state == "applied" and served.applied.steps:
                self._say("The workspace matches the project.")

    def _is_new(self, report: object) -> bool:
        is_new, self._last = report != self._last, report
        return is_new

    def _say(self, line: str) -> None:
        show_lines(stdout(), [line])


_STATUSES: dict[State | None, int] = {
    None: 0,
    "applied": 0,
    "waiting": 0,
    "failed": FAILED,
    "invalid": INVALID,
    "refused": REFUSED,
}
