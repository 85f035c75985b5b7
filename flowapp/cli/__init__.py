"""The `flow` command. `groups.py` lists the command groups, which are modules of the apps.

Group modules import Django code inside their handlers: models cannot be imported before the control database is
configured, and commands without a database (`flow validate`) must start quickly.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import NoReturn

from flowapp.cli.exits import FAILED, INTERRUPTED, fail
from flowapp.cli.groups import build_parser
from flowapp.cli.outcome import Outcome


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    # Most objects that a command creates live until its end. Searching for cycles at every 700 objects would take a
    # third of its time.
    gc.set_threshold(50_000, 20, 20)
    # A last collection at the end is not needed either: on a busy machine it takes more than a second.
    atexit.register(gc.freeze)
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    try:
        with _reserved_stdout() if as_json else nullcontext(), _terminated_like_interrupted():
            outcome = _attempt(arguments)
        return _print(outcome, as_json)
    except BrokenPipeError:
        # The reader (such as `| head`) has closed the pipe. Without this, Python prints an error at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except KeyboardInterrupt:
        return INTERRUPTED
    return FAILED


def _attempt(arguments: Sequence[str]) -> Outcome:
    """The top-level error handler of the command line: it turns every exception into an outcome."""
    args = Namespace()
    try:
        args = build_parser().parse_args(arguments)
        return _execute(args)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        return fail(error, getattr(args, "file", None) or getattr(args, "pipeline", None))


def _print(outcome: Outcome, as_json: bool) -> int:
    """Print the outcome and return the exit status. A failure to print is reported as an error."""
    try:
        outcome.print(as_json)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001
        outcome = fail(error)
        outcome.print(as_json)
    return outcome.status


def _execute(args: Namespace) -> Outcome:
    handler: Callable[[Namespace], Outcome] = args.handler
    if not args.needs_database:
        return handler(args)
    from flowapp.cli.control import control_plane

    with control_plane(with_broker=_wants_broker(args)) as args.services:
        return handler(args)


def _wants_broker(args: Namespace) -> bool:
    """Return whether the command sends runs to workers. A command that only queues starts the broker; a command that
    can run inline only joins a running broker."""
    from flowapp.embedded.services import is_running

    return getattr(args, "detach", False) or (getattr(args, "joins_broker", False) and is_running("redis"))


@contextmanager
def _reserved_stdout() -> Iterator[None]:
    """Reserve standard output for one JSON document: libraries and the JVM write to standard error."""
    stdout = sys.stdout
    stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = stdout
        os.dup2(saved, 1)
        os.close(saved)


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that this process stops the services that it started."""

    def interrupt(signum: int, frame: object) -> NoReturn:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # Only the main thread can handle signals.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
