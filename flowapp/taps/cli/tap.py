"""`flow tap`: the Singer taps of this installation."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from flowapp.cli.outcome import Outcome, listed, text_outcome
from flowapp.cli.parser import Handler, add_command, add_group

COLUMNS = {
    "name": "NAME",
    "package": "PACKAGE",
    "allowed": "SETTINGS",
    "files": "FILES",
    "addedAt": "ADDED",
}
STREAM_COLUMNS = {"stream": "STREAM", "key": "KEY", "columns": "COLUMNS"}
SECONDS = 120.0


def add_parser(commands: Any) -> None:
    group = add_group(commands, "tap", "Singer taps, each in a virtual environment of its own")
    adding = add_command(group, "add", with_settings(add), "install a tap", needs_database=False)
    adding.add_argument("name", metavar="NAME", help="its name in pipelines")
    what = adding.add_mutually_exclusive_group(required=True)
    what.add_argument("--package", metavar="PACKAGE==VERSION", default="", help="one exact version of a package")
    what.add_argument("--requirements", metavar="FILE", type=Path, help="a file of requirements with hashes")
    adding.add_argument("--executable", metavar="PROGRAM", default="", help="the program, if the package has several")
    adding.add_argument("--replace", action="store_true", help="replace the environment of an installed tap")
    adding.add_argument(
        "--without-sandbox", action="store_true", help="let the tap read all files that Flow's processes can read"
    )
    _add_settings(adding)
    allowing = add_command(
        group, "allow", with_settings(allow), "change which settings pipelines may give to a tap", needs_database=False
    )
    allowing.add_argument("name", metavar="NAME")
    _add_settings(allowing)
    add_command(group, "list", with_settings(list_taps), "list the installed taps", needs_database=False)
    streams = add_command(
        group, "streams", with_settings(list_streams), "list the streams of a tap", needs_database=False
    )
    streams.add_argument("name", metavar="NAME")
    streams.add_argument("--config", metavar="FILE", type=Path, help="a JSON file with the settings of the tap")
    removing = add_command(group, "remove", remove, "remove a tap that no pipeline uses")
    removing.add_argument("name", metavar="NAME")


def with_settings(handler: Handler) -> Handler:
    """Load Django's settings before a command that needs no database."""

    def handle(args: Namespace) -> Outcome:
        from flowapp.cli.control import set_up_django

        set_up_django()
        return handler(args)

    return handle


def _add_settings(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--setting",
        metavar="NAME",
        action="append",
        default=[],
        help="a setting that pipelines may give; all others come from connections; may be repeated",
    )
    parser.add_argument("--any-setting", action="store_true", help="let pipelines give all settings")


def _settings_of(args: Namespace) -> tuple[str, ...] | None:
    return None if args.any_setting else tuple(sorted(set(args.setting)))


def add(args: Namespace) -> Outcome:
    from executors.api import TapRequest, install_tap
    from flowapp.taps.folder import tap_folder
    from flowapp.taps.services import describe

    request = TapRequest(
        name=args.name,
        package=args.package,
        requirements=args.requirements,
        executable=args.executable,
        settings=_settings_of(args),
        sandbox=not args.without_sandbox,
    )
    tap = install_tap(tap_folder(), request, replaces=args.replace)
    return text_outcome(describe(tap), f"Tap {tap.name} added: {tap.package}, program {tap.executable}.")


def allow(args: Namespace) -> Outcome:
    from executors.api import allow_settings
    from flowapp.taps.folder import tap_folder
    from flowapp.taps.services import describe

    tap = allow_settings(tap_folder(), args.name, _settings_of(args))
    return text_outcome(describe(tap), f"Settings that pipelines may give to {tap.name}: {_allowed(tap.settings)}.")


def list_taps(args: Namespace) -> Outcome:
    from flowapp.taps.folder import tap_folder
    from flowapp.taps.services import describe

    taps = tap_folder().list()
    rows = [
        {**describe(tap), "allowed": _allowed(tap.settings), "files": "its own" if tap.sandbox else "all"}
        for tap in taps
    ]
    shown = listed("taps", rows, COLUMNS, "No taps yet. Add one: flow tap add NAME --package PACKAGE==VERSION")
    return Outcome({"taps": [describe(tap) for tap in taps]}, shown.show)


def list_streams(args: Namespace) -> Outcome:
    from executors.api import find_streams
    from executors.model import StoreConnection
    from flowapp.taps.folder import readable_folders, tap_folder
    from flowapp.taps.services import read_settings

    text = read_settings(args.config) if args.config else "{}"
    given = StoreConnection(str(args.config), "singer", {"tap": args.name}, {"settings": text})
    found = find_streams(tap_folder(), args.name, {}, given, SECONDS, readable_folders())
    rows = [
        {
            "stream": stream.id,
            "key": ", ".join(stream.keys) or "–",
            "columns": ", ".join(f"{field.name} {field.type}" for field in stream.fields),
        }
        for stream in found
    ]
    document = [
        {
            "stream": stream.id,
            "key": list(stream.keys),
            "replicationKeys": list(stream.replication_keys),
            "columns": [{"name": field.name, "type": str(field.type)} for field in stream.fields],
        }
        for stream in found
    ]
    return Outcome({"streams": document}, listed("streams", rows, STREAM_COLUMNS, "The tap has no streams.").show)


def remove(args: Namespace) -> Outcome:
    from flowapp.taps import services

    tap = services.remove(args.name)
    return text_outcome({"removed": tap.name}, f"Tap {tap.name} removed.")


def _allowed(settings: tuple[str, ...] | None) -> str:
    return "all" if settings is None else ", ".join(settings) or "none"
