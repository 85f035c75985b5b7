"""`flow pipeline`: saved pipelines, their versions, and conversion of documents between JSON and TOML."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flowapp.accounts.cli.workspace import OPERATOR, current_workspace
from flowapp.cli.outcome import Outcome, listed, minute, text_outcome
from flowapp.cli.parser import add_command, add_group
from flowapp.pipelines.cli.documents import parse_offline, read_complete, read_file

if TYPE_CHECKING:
    from flowapp.pipelines.models import PipelineVersion

COLUMNS = {
    "id": "ID",
    "name": "NAME",
    "version": "VERSION",
    "lastRun": "LAST RUN",
    "schedule": "SCHEDULE",
    "enabled": "ENABLED",
}
VERSION_COLUMNS = {"version": "VERSION", "createdAt": "SAVED", "author": "BY", "message": "MESSAGE"}


def add_parser(commands: Any) -> None:
    group = add_group(commands, "pipeline", "saved pipelines and their versions")
    listing = add_command(group, "list", list_pipelines, "list the pipelines")
    listing.add_argument("--archived", action="store_true", help="list the archived pipelines instead")
    add_command(group, "show", show_pipeline, "print a pipeline's newest document").add_argument("id", metavar="ID")
    add_command(group, "save", save_pipeline, "save a document as a pipeline's newest version").add_argument(
        "file", metavar="FILE", help="a .json or .toml file, or - for standard input"
    )
    add_command(group, "history", list_history, "list a pipeline's versions").add_argument("id", metavar="ID")
    restore = add_command(group, "restore", restore_pipeline, "restore an old version as the newest one")
    restore.add_argument("id", metavar="ID")
    restore.add_argument("version", metavar="VERSION", type=int)
    add_command(group, "duplicate", duplicate, "copy a pipeline under a free id").add_argument("id", metavar="ID")
    add_command(group, "archive", archive, "archive a pipeline: it is not listed, scheduled or run").add_argument(
        "id", metavar="ID"
    )
    add_command(group, "unarchive", unarchive, "restore an archived pipeline").add_argument("id", metavar="ID")
    convert = add_command(
        group, "convert", convert_file, "convert a document or manifest between JSON and TOML", needs_database=False
    )
    convert.add_argument("file", metavar="FILE", help="a .json or .toml file, or - for standard input")
    convert.add_argument("--to", required=True, choices=("json", "toml"), help="the output format")


def list_pipelines(args: Namespace) -> Outcome:
    from flowapp.pipelines import selectors
    from flowapp.pipelines.serializers import PipelineSerializer
    from flowapp.runs.selectors import last_states

    workspace = current_workspace()
    states = last_states(workspace)
    found = [
        {**PipelineSerializer(pipeline).data, "lastRun": states.get(pipeline.pk)}
        for pipeline in selectors.list_pipelines(workspace, archived=args.archived)
    ]
    rows = [{**pipeline, "schedule": _schedule_text(pipeline["schedule"])} for pipeline in found]
    shown = listed("pipelines", rows, COLUMNS, "No pipelines yet. Save one: flow pipeline save FILE")
    return Outcome({"pipelines": found}, shown.show)


def _schedule_text(schedule: dict[str, str] | None) -> str | None:
    if schedule is None:
        return None
    return schedule.get("expression") or f"every {schedule['interval']}"


def show_pipeline(args: Namespace) -> Outcome:
    """Print the text as it was saved; with `--json` the document with the pipeline's fields."""
    from flowapp.pipelines import selectors
    from flowapp.pipelines.documents import read_document
    from flowapp.pipelines.serializers import PipelineSerializer

    pipeline = selectors.get_pipeline(current_workspace(), args.id)
    text = selectors.get_version(pipeline).document
    document = {**PipelineSerializer(pipeline).data, "document": read_document(text).to_document()}
    return Outcome(document, lambda console: _print_text(console, text))


def _print_text(console: Console, text: str) -> None:
    console.out(text.removesuffix("\n"), highlight=False)


def save_pipeline(args: Namespace) -> Outcome:
    return _saved(save_file(args.file))


def save_file(name: str) -> PipelineVersion:
    """Save a file as the newest version of the pipeline that it names. Raises InvalidPipeline."""
    from flowapp.pipelines.documents import parse
    from flowapp.pipelines.services import save_version
    from ir.manifests.texts import write_manifest

    content, syntax = read_complete(name)
    written = content if isinstance(content, bytes) else write_manifest(content, syntax).encode()
    parse(written, syntax)
    return save_version(current_workspace(), written.decode(), role=OPERATOR)


def _saved(version: PipelineVersion) -> Outcome:
    document = {"pipeline": version.pipeline.slug, "version": version.number, "sha256": version.sha256}
    return text_outcome(document, f"Pipeline {version.pipeline.slug} is at version {version.number}.")


def list_history(args: Namespace) -> Outcome:
    from flowapp.pipelines import selectors
    from flowapp.pipelines.serializers import VersionSerializer

    pipeline = selectors.get_pipeline(current_workspace(), args.id)
    rows = [VersionSerializer(version).data for version in selectors.list_versions(pipeline)]
    shown = [{**row, "createdAt": minute(row["createdAt"]), "author": row["author"] or "command line"} for row in rows]
    return Outcome(
        {"pipeline": args.id, "versions": rows}, listed("versions", shown, VERSION_COLUMNS, "No versions yet.").show
    )


def restore_pipeline(args: Namespace) -> Outcome:
    from flowapp.pipelines import selectors, services

    pipeline = selectors.get_pipeline(current_workspace(), args.id)
    return _saved(services.restore_version(pipeline, args.version, role=OPERATOR))


def duplicate(args: Namespace) -> Outcome:
    from flowapp.pipelines import copies, selectors
    from flowapp.pipelines.serializers import PipelineSerializer

    copy = copies.duplicate_pipeline(selectors.get_pipeline(current_workspace(), args.id), role=OPERATOR)
    text = f"Pipeline {copy.slug} is a copy of {args.id}. It loads the same tables. Its schedule is paused."
    return text_outcome(dict(PipelineSerializer(copy).data), text)


def archive(args: Namespace) -> Outcome:
    return _set_archived(args.id, True)


def unarchive(args: Namespace) -> Outcome:
    return _set_archived(args.id, False)


def _set_archived(slug: str, archived: bool) -> Outcome:
    from flowapp.pipelines import selectors, services
    from flowapp.pipelines.serializers import PipelineSerializer

    pipeline = selectors.get_pipeline(current_workspace(), slug)
    services.set_archived(pipeline, archived)
    return text_outcome(
        dict(PipelineSerializer(pipeline).data), f"Pipeline {slug} is {'archived' if archived else 'restored'}."
    )


def convert_file(args: Namespace) -> Outcome:
    """Convert a document between JSON and TOML. Only comments are lost. Raises InvalidPipeline for an invalid
    document."""
    from ir.manifests.texts import write_manifest

    text = write_manifest(_read_for_conversion(args.file), args.to)
    return Outcome({"syntax": args.to, "text": text}, lambda console: _print_text(console, text))


def _read_for_conversion(name: str) -> dict[str, Any]:
    from ir.documents import read_document
    from ir.manifests.short import is_full
    from ir.manifests.structure import require_short

    content, syntax = read_file(name)
    document = read_document(content, syntax)
    if not is_full(document.value):
        return require_short(document)
    parse_offline(*read_complete(name))
    return dict(document.value)
