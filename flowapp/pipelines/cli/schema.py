"""`flow schema export`: the JSON Schemas of documents, manifests, plans and transforms, for editors."""

from __future__ import annotations

import json
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from typing import Any

from flowapp.cli.outcome import Outcome, text_outcome
from flowapp.cli.parser import add_command
from flowapp.embedded.home import flow_home
from ir.errors import FlowError

FILE_NAME = "pipeline-1.0.json"
SCHEMAS = {
    FILE_NAME: "ir.schema:schema_document",
    "manifest-1.0.json": "ir.manifests.schema:manifest_schema",
    "plan-1.0.json": "ir.manifests.plan:plan_schema",
    "transforms-1.0.json": "ir.transform_code.compiled:transforms_schema",
}
"""The files, each with the function that returns its schema."""


def add_export(group: Any) -> None:
    """Add the command to the group `flow schema`."""
    export = add_command(
        group, "export", export_schema, f"write {', '.join(SCHEMAS)} to a folder", needs_database=False
    )
    export.add_argument("folder", metavar="DIR", nargs="?", help="created if needed (default: schema/ in FLOW_HOME)")


def export_schema(args: Namespace) -> Outcome:
    folder = Path(args.folder) if args.folder else flow_home() / "schema"
    paths = [_write(folder / name, make) for name, make in SCHEMAS.items()]
    return text_outcome(
        {"path": str(paths[0]), "paths": [str(path) for path in paths]},
        *(f"Written to {path}." for path in paths),
        'Point editors to one by "$schema" or by the name of your file.',
    )


def _write(path: Path, maker: str) -> Path:
    module, _, name = maker.partition(":")
    schema = getattr(import_module(module), name)()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(schema, ensure_ascii=False, indent=2) + "\n")
    except OSError as error:
        raise FlowError(
            "file.unwritable",
            f"{path} cannot be written: {(error.strerror or type(error).__name__).lower()}.",
            hint="Use a folder that you can write to.",
        ) from None
    return path
