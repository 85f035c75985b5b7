"""`flow up`: run every service that is not configured elsewhere in one terminal."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from socket import socket
from typing import Any
from urllib.parse import urlsplit

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, text_outcome
from flowapp.cli.parser import add_command
from flowapp.embedded.address import format_bind, parse_bind
from flowapp.embedded.home import Home, flow_home
from flowapp.embedded.ports import reserve_port
from flowapp.embedded.probe import web_answers
from flowapp.embedded.supervisor import Program, Supervisor
from flowapp.embedded.web import serving
from flowapp.flags import read_flag
from ir.errors import FlowError

_CELERY = ("-m", "celery", "-q", "-A", "flowapp.celery", "worker", "--loglevel", "INFO")
_STREAMS = ("-Q", "flow-streams", "--concurrency", "16")
"""A worker for streams. Each stream occupies a thread for as long as it runs."""
_ALONE = ("--without-gossip", "--without-mingle", "--without-heartbeat")
_UVICORN = (
    "-m",
    "uvicorn",
    "flowapp.asgi:application",
    "--lifespan",
    "off",
    "--no-access-log",
    "--no-server-header",
    "--no-proxy-headers",
)


def add_parser(commands: Any) -> None:
    add_command(commands, "up", up, "start Flow and keep it running until Ctrl-C", needs_database=False)


def up(args: Namespace) -> Outcome:
    """Run until a signal arrives. The database and the broker start first and stop last."""
    from flowapp.cli.control import control_plane

    began = time.monotonic()
    home = Home(flow_home())
    home.make()
    os.environ["FLOW_HOME"] = str(home.root)
    try:
        host, wanted = parse_bind(os.environ.get("FLOW_BIND"))
        with control_plane(with_broker=True, migrate=True):
            sign_in = _sign_in_line()
            _disconnect()
            with _reserve(host, wanted) as listener, serving(home, os.environ["FLOW_BIND"]):
                supervisor = Supervisor(_programs(listener.fileno()), home.logs)
                clean = supervisor.run(lambda: _announce(supervisor, listener, began, sign_in))
    except KeyboardInterrupt:
        clean = True
    return text_outcome(
        {"stopped": True, "clean": clean}, "Stopped." if clean else "Stopped immediately. See the logs."
    )


def _reserve(host: str, wanted: int) -> socket:
    """Reserve the web's socket on the configured port or the next free one, after the services have reserved theirs."""
    try:
        listener = reserve_port(wanted, host)
    except OSError as error:
        raise FlowError(
            "bind.refused",
            f"Nothing can listen on {format_bind(host, wanted)}: {error.strerror}.",
            hint="Set FLOW_BIND to an address of this machine.",
        ) from error
    port = listener.getsockname()[1]
    if port != wanted:
        print(f"Port {wanted} is taken; using {port}.", flush=True)
    os.environ["FLOW_BIND"] = format_bind(host, port)
    return listener


def _programs(listener: int) -> list[Program]:
    web = (*_UVICORN, "--fd", str(listener), "--timeout-graceful-shutdown", "3")
    programs = [
        Program("web", (sys.executable, *web), [listener]),
        Program("scheduler", (sys.executable, "-m", "django", "flow_scheduler")),
        Program("worker", (sys.executable, *_CELERY, *_ALONE)),
    ]
    if read_flag("FLOW_STREAMING_ENABLED"):
        programs.append(Program("streams", (sys.executable, *stream_worker())))
    return programs


def stream_worker() -> tuple[str, ...]:
    """Return the arguments of Python with which it is a worker for streams."""
    return (*_CELERY, *_STREAMS, *_ALONE)


def _sign_in_line() -> Callable[[str], str]:
    """Return what makes, of the address of the web, the line that says how to sign in.

    Until anybody has signed in, it has a link for the first admin. Later ones name the command that prints a link: the
    output of `flow up` may be a log that others can read.
    """
    from flowapp.accounts.services import first_admin_address, make_first_link

    workspace = current_workspace()
    if link := make_first_link(workspace):
        path = urlsplit(link).path
        return lambda address: f"Sign in, once, with {address}{path}"
    admin = first_admin_address(workspace) or "ADDRESS"
    return lambda address: f"Sign in there. For a new link: flow user link {admin}"


def _announce(supervisor: Supervisor, listener: socket, began: float, sign_in: Callable[[str], str]) -> bool:
    host, port = listener.getsockname()[:2]
    if not web_answers(host, port, timeout=0.5):
        return False
    address = os.environ.get("FLOW_PUBLIC_URL") or f"http://{format_bind(host, port)}"
    supervisor.say(f"\n  Flow is up at {address}  ({time.monotonic() - began:.1f} s; Ctrl-C stops it)")
    supervisor.say(f"  {sign_in(address)}\n")
    return True


def _disconnect() -> None:
    """Close the database connections; the supervisor itself no longer needs them."""
    from django.db import connections

    connections.close_all()
