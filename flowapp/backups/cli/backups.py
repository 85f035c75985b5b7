"""`flow backups`: list and restore backups of tables."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, listed, minute, text_outcome
from flowapp.cli.parser import add_command, add_group, add_run, positive
from flowapp.runs.cli.progress import shown_run
from flowapp.runs.cli.run import ended

COLUMNS = {
    "id": "BACKUP",
    "table": "TABLE",
    "rows": "ROWS",
    "before": "BEFORE RUN",
    "takenAt": "TAKEN",
    "expires": "EXPIRES",
    "restored": "RESTORED",
}


def add_parser(commands: Any) -> None:
    group = add_group(commands, "backups", "backups of tables")
    listing = add_command(group, "list", list_backups, "list backups, newest first")
    listing.add_argument("--pipeline", metavar="ID")
    add_run(listing, "--run", "the run that a backup was taken before")
    listing.add_argument("--limit", type=positive, default=20, metavar="N", help="how many (default: 20)")
    restore = add_command(group, "restore", restore_backup, "restore a table with its watermark and files")
    restore.add_argument("backup", metavar="BACKUP")
    restore.add_argument("--reason", metavar="TEXT", required=True, help="the reason; it is stored")
    restore.add_argument("--detach", action="store_true", help="queue it for a worker and return")


def list_backups(args: Namespace) -> Outcome:
    from flowapp.backups import selectors
    from flowapp.backups.serializers import BackupSerializer
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.runs.selectors import find_run

    workspace = current_workspace()
    wanted: dict[str, Any] = {"pipeline": get_pipeline(workspace, args.pipeline)} if args.pipeline else {}
    wanted |= {"run": find_run(workspace, args.run)} if args.run else {}
    backups = list(selectors.list_backups(workspace, **wanted)[: args.limit])
    found = [BackupSerializer(backup).data for backup in backups]
    rows = [_row(document, backup.run.name) for document, backup in zip(found, backups, strict=True)]
    empty = "No backups: no target with backupBeforeLoad has been loaded yet."
    return Outcome({"backups": found}, listed("backups", rows, COLUMNS, empty).show)


def _row(document: dict[str, Any], before: str) -> dict[str, Any]:
    return {
        **document,
        "table": f"{document['schema']}.{document['table']}",
        "before": before,
        "takenAt": minute(document["takenAt"]),
        "expires": "dropped" if document["droppedAt"] else minute(document["expiresAt"]),
        "restored": ", ".join(restore["state"] for restore in document["restores"]) or None,
    }


def restore_backup(args: Namespace) -> Outcome:
    from flowapp.backups import selectors, services
    from flowapp.backups.inline import restore_inline
    from flowapp.runs.models import Trigger
    from flowapp.runs.serializers import run_json

    backup = selectors.get_backup(current_workspace(), args.backup)
    if args.detach:
        run = services.restore_backup(backup, args.reason, Trigger.CLI)
        return text_outcome(run_json(run, sees_values=True), f"{backup} is being restored by run {run.name}.")
    with shown_run(str(backup)) as shown:
        return ended(restore_inline(backup, args.reason, engine=shown.engine))
