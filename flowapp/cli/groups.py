"""The table of command groups. Each module has `add_parser(commands)`."""

from __future__ import annotations

from flowapp.cli import (
    alerts,
    backups,
    channel,
    connection,
    demo,
    errors,
    hooks,
    pipeline,
    rules,
    run,
    runs,
    schema,
    secrets,
    token,
    trace,
    up,
    user,
    validate,
    watermark,
)
from flowapp.cli.parser import Parser, add_json_option

GROUPS = (
    up,
    demo,
    validate,
    run,
    runs,
    hooks,
    errors,
    trace,
    rules,
    pipeline,
    watermark,
    backups,
    connection,
    alerts,
    channel,
    user,
    token,
    secrets,
    schema,
)


def build_parser() -> Parser:
    parser = Parser(prog="flow", description="Build data pipelines and trust what they load.", allow_abbrev=False)
    add_json_option(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for group in GROUPS:
        group.add_parser(commands)
    return parser
