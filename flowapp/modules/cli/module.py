"""`flow module`: the WebAssembly modules of custom transforms."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, listed, minute, text_outcome
from flowapp.cli.parser import add_command, add_group

BY = "command line"
COLUMNS = {"name": "NAME", "sha256": "SHA-256", "kind": "KIND", "size": "BYTES", "access": "GRANTED", "added": "ADDED"}


def add_parser(commands: Any) -> None:
    group = add_group(commands, "module", "WebAssembly modules of custom transforms")
    adding = add_command(group, "add", add, "check a module and store it")
    adding.add_argument("name", metavar="NAME")
    adding.add_argument("file", metavar="FILE", type=Path)
    adding.add_argument(
        "--grant",
        metavar="ACCESS",
        action="append",
        default=[],
        help="let the module use clock (the time) or random (random bytes); may be repeated",
    )
    add_command(group, "list", list_modules, "list the modules with their hashes")
    removing = add_command(group, "remove", remove, "remove a build of a module that no pipeline uses")
    removing.add_argument("name", metavar="NAME")
    removing.add_argument("sha256", metavar="SHA256", help="the hash, or its beginning")


def add(args: Namespace) -> Outcome:
    from flowapp.modules.serializers import ModuleSerializer
    from flowapp.modules.services import add_module
    from flowapp.modules.uploading import read_module_file

    stored = add_module(current_workspace(), args.name, read_module_file(args.file), args.grant, BY)
    return text_outcome(ModuleSerializer(stored).data, f"Module saved. Documents name it:\n{stored.ref}")


def list_modules(args: Namespace) -> Outcome:
    from flowapp.api.serializers import represent_all
    from flowapp.modules import selectors
    from flowapp.modules.serializers import ModuleSerializer

    found = represent_all(ModuleSerializer, selectors.list_modules(current_workspace()))
    rows = [{**one, "access": ", ".join(one["granted"]) or "–", "added": minute(one["addedAt"])} for one in found]
    shown = listed("modules", rows, COLUMNS, "No modules yet. Add one: flow module add NAME FILE")
    return Outcome({"modules": found}, shown.show)


def remove(args: Namespace) -> Outcome:
    from flowapp.modules.services import remove_module

    removed = remove_module(current_workspace(), args.name, args.sha256)
    return text_outcome({"removed": removed.ref}, f"{removed.ref} removed.")
