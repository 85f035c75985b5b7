"""`flow up`: run every service that is not configured elsewhere in one terminal."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
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
from ir.errors import FlowError

_CELERY = ("-m", "celery", "-q", "-A", "flowapp.celery", "worker", "--loglevel", "INFO")
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
            login_path = _first_login_path()
            _disconnect()
            with _reserve(host, wanted) as listener, serving(home, os.environ["FLOW_BIND"]):
                supervisor = Supervisor(_programs(listener.fileno()), home.logs)
                clean = supervisor.run(lambda: _announce(supervisor, listener, began, login_path))
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
    return [
        Program("web", (sys.executable, *web), [listener]),
        Program("scheduler", (sys.executable, "-m", "django", "flow_scheduler")),
        Program("worker", (sys.executable, *_CELERY, *_ALONE)),
    ]


def _first_login_path() -> str | None:
    """Return the path at which the first admin signs in once, or None if anybody has signed in before."""
    from flowapp.accounts.services import make_first_link

    link = make_first_link(current_workspace())
    return urlsplit(link).path if link else None


def _announce(supervisor: Supervisor, listener: socket, began: float, login_path: str | None) -> bool:
    host, port = listener.getsockname()[:2]
    if not web_answers(host, port, timeout=0.5):
        return False
    address = os.environ.get("FLOW_PUBLIC_URL") or f"http://{format_bind(host, port)}"
    supervisor.say(f"\n  Flow is up at {address}  ({time.monotonic() - began:.1f} s; Ctrl-C stops it)")
    if login_path:
        supervisor.say(f"  Sign in, once, with {address}{login_path}")
    supervisor.say("")
    return True


def _disconnect() -> None:
    """Close the database connections; the supervisor itself no longer needs them."""
    from django.db import connections

    connections.close_all()
