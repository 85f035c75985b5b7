"""`flow schema`: the JSON Schema of pipeline documents, for editors and other programs."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

from flowapp.cli.outcome import Outcome, text_outcome
from flowapp.cli.parser import add_command, add_group
from flowapp.embedded.home import flow_home
from ir.errors import FlowError

FILE_NAME = "pipeline-1.0.json"


def add_parser(commands: Any) -> None:
    group = add_group(commands, "schema", "the JSON Schema of pipeline documents")
    export = add_command(
        group, "export", export_schema, f"write the schema to {FILE_NAME} in a folder", needs_database=False
    )
    export.add_argument("folder", metavar="DIR", nargs="?", help="created if needed (default: schema/ in FLOW_HOME)")


def export_schema(args: Namespace) -> Outcome:
    from ir.schema import schema_document

    folder = Path(args.folder) if args.folder else flow_home() / "schema"
    path = folder / FILE_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(schema_document(), ensure_ascii=False, indent=2) + "\n")
    except OSError as error:
        raise FlowError(
            "file.unwritable",
            f"{path} cannot be written: {(error.strerror or type(error).__name__).lower()}.",
            hint="Use a folder that you can write to.",
        ) from None
    return text_outcome(
        {"path": str(path)}, f'Written to {path}. Point editors to it by "$schema" or by the file\'s name.'
    )
