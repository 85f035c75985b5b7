"""`flow plan`, `flow apply` and `flow export`: a workspace as a folder of manifests."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import FAILED, INVALID, REFUSED
from flowapp.cli.outcome import Outcome, text_outcome
from flowapp.cli.parser import add_command
from flowapp.manifests.cli.show import invalid_project, show_applied, show_plan
from ir.manifests.diagnostics import InvalidProject

if TYPE_CHECKING:
    from flowapp.manifests.planning import Planned

CHANGES = 2
"""The exit status of `flow plan` if there are changes."""


def add_parser(commands: Any) -> None:
    plan = add_command(commands, "plan", plan_folder, "show what applying a project of manifests would change")
    plan.epilog = "Exit status: 0 no changes, 2 changes, 1 an error."
    add_folder(plan)
    apply = add_command(commands, "apply", apply_folder, "make a workspace as its project of manifests says")
    apply.epilog = (
        "Exit status: 0 applied, 1 something failed, 2 invalid manifests, 3 something needs --force or --yes."
    )
    apply.add_argument("id", metavar="ID", nargs="?", help="only this pipeline, with the connections that it names")
    add_consents(apply)
    apply.add_argument("--dir", dest="folder", metavar="DIR", default=".", help=_FOLDER)
    export = add_command(commands, "export", export_folder, "write a workspace back into the files of its project")
    add_folder(export)


_FOLDER = "the folder with flow.toml (default: the current one)"


def add_folder(command: Any) -> None:
    command.add_argument("folder", metavar="DIR", nargs="?", default=".", help=_FOLDER)


def add_consents(command: Any) -> None:
    """Add the options that confirm destructive changes."""
    command.add_argument("--force", action="store_true", help="overwrite changes that were made in the browser")
    command.add_argument(
        "--yes", action="store_true", help="archive undeclared pipelines, remove undeclared connections"
    )


def plan_folder(args: Namespace) -> Outcome:
    try:
        plan = _plan(args.folder).plan
    except InvalidProject as error:
        return invalid_project(error, FAILED)
    status = 0 if plan.is_empty else CHANGES
    return Outcome(plan.to_document(), lambda console: show_plan(console, plan), status)


def _plan(folder: str) -> Planned:
    from flowapp.manifests.folders import read_folder
    from flowapp.manifests.planning import make_plan, parse_project

    workspace = current_workspace()
    return make_plan(workspace, parse_project(workspace, read_folder(Path(folder))), os.environ)


def apply_folder(args: Namespace) -> Outcome:
    from flowapp.manifests.applying import Actor, Options
    from flowapp.manifests.proposals import apply_project

    try:
        planned = _plan(args.folder)
    except InvalidProject as error:
        return invalid_project(error, INVALID)
    options = Options(force=args.force, yes=args.yes, only=args.id)
    applied = apply_project(planned, os.environ, Actor(), options)
    status = FAILED if applied.failed else REFUSED if applied.refused else 0
    return Outcome(applied.to_json(), lambda console: show_applied(console, applied), status)


def export_folder(args: Namespace) -> Outcome:
    from flowapp.manifests.exporting import export_project, record_export
    from flowapp.manifests.folders import read_folder, write_folder

    workspace, folder = current_workspace(), Path(args.folder)
    try:
        exported = export_project(workspace, read_folder(folder) if folder.exists() else {})
    except InvalidProject as error:
        return invalid_project(error, INVALID)
    write_folder(folder, exported.texts)
    record_export(workspace, exported)
    written = [name for name, text in exported.texts.items() if text is not None]
    removed = [name for name, text in exported.texts.items() if text is None]
    lines = [*(f"Written: {name}" for name in written), *(f"Removed: {name}" for name in removed)]
    return text_outcome({"written": written, "removed": removed}, *(lines or ["The files are up to date."]))
