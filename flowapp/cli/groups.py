"""The command groups, by module name. Each module has `add_parser(commands)`.

They are named, not imported, because they belong to apps in higher layers.
"""

from __future__ import annotations

from importlib import import_module

from flowapp.cli.parser import Parser, add_json_option

GROUPS = (
    "flowapp.accounts.cli.up",
    "flowapp.demo.cli",
    "flowapp.pipelines.cli.validate",
    "flowapp.runs.cli.run",
    "flowapp.runs.cli.runs",
    "flowapp.runs.cli.hooks",
    "flowapp.quarantine.cli.errors",
    "flowapp.tracing.cli.trace",
    "flowapp.suggestions.cli.rules",
    "flowapp.runs.cli.pipeline",
    "flowapp.watermarks.cli.watermark",
    "flowapp.backfills.cli.backfill",
    "flowapp.streams.cli.stream",
    "flowapp.triggers.cli.trigger",
    "flowapp.files.cli.files",
    "flowapp.backups.cli.backups",
    "flowapp.connections.cli.connection",
    "flowapp.modules.cli.module",
    "flowapp.taps.cli.tap",
    "flowapp.alerts.cli.alerts",
    "flowapp.channels.cli.channel",
    "flowapp.accounts.cli.user",
    "flowapp.accounts.cli.token",
    "flowapp.connections.cli.secrets",
    "flowapp.schema_changes.cli.schema",
    "flowapp.manifests.cli.plan",
    "flowapp.manifests.cli.serve",
    "flowapp.manifests.cli.compile",
    "flowapp.state.cli.state",
)


def build_parser() -> Parser:
    parser = Parser(prog="flow", description="Build data pipelines and trust what they load.", allow_abbrev=False)
    add_json_option(parser)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for group in GROUPS:
        import_module(group).add_parser(commands)
    return parser
