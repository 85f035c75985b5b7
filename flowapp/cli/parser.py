"""The argument parser, with Flow's usage errors and helpers to add commands."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any, NoReturn

from flowapp.cli.exits import UsageError
from flowapp.cli.outcome import Outcome

Handler = Callable[[Namespace], Outcome]


class Parser(ArgumentParser):
    """An ArgumentParser that raises instead of exiting. `late_options` adds options that are costly to compute, and
    only when the command is used."""

    late_options: Callable[[Parser], None] | None = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self.late_options:
            self.late_options(self)
            self.late_options = None
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, command=self.prog)


def add_command(commands: Any, name: str, handler: Handler, summary: str, *, needs_database: bool = True) -> Parser:
    """Add a command. `handler` receives the parsed arguments once the control database is ready, if the command needs
    it."""
    parser: Parser = commands.add_parser(name, help=summary, description=_sentence(summary), allow_abbrev=False)
    parser.set_defaults(handler=handler, needs_database=needs_database)
    add_json_option(parser)
    return parser


def add_group(commands: Any, name: str, summary: str) -> Any:
    """Add a group such as `flow runs`; return the object to add its commands to."""
    parser: Parser = commands.add_parser(name, help=summary, description=_sentence(summary), allow_abbrev=False)
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=True)


def add_json_option(parser: Parser) -> None:
    """Add `--json`, before or after the command. The option has no default, so that neither position overrides the
    other."""
    parser.add_argument(
        "--json", action="store_true", default=SUPPRESS, help="print one JSON object, everything else to stderr"
    )


RUN_NAMES = "as nyc-flights/5, 5 where only one pipeline has a run 5, or its id"


def add_run(command: ArgumentParser, name: str = "run", what: str = "") -> None:
    """Add an argument or option that names a run, in the forms that `selectors.find_run` accepts."""
    command.add_argument(name, metavar="RUN", help=f"{what}, {RUN_NAMES}" if what else RUN_NAMES)


def positive(text: str) -> int:
    """Parse a whole number of at least 1. Raises an argparse error."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _sentence(summary: str) -> str:
    return summary[0].upper() + summary[1:] + "."
