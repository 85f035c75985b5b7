"""`flow up`: everything that is not configured elsewhere, in one terminal."""

from __future__ import annotations

import http.client
import os
import sys
import time
from argparse import Namespace
from typing import Any

from flowapp.cli.outcome import Outcome, said
from flowapp.cli.parser import add_command
from flowapp.embedded.home import Home, flow_home
from flowapp.embedded.ports import free_port, is_free
from flowapp.embedded.supervisor import Program, Supervisor
from ir.errors import FlowError

_CELERY = ("-m", "celery", "-q", "-A", "flowapp.celery", "worker", "--loglevel", "INFO")
_QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat")
_UVICORN = ("-m", "uvicorn", "flowapp.asgi:application", "--lifespan", "off", "--no-access-log", "--no-server-header")


def add_parser(commands: Any) -> None:
    add_command(commands, "up", up, "start Flow and keep it running until Ctrl-C", needs_database=False)


def up(args: Namespace) -> Outcome:
    """Run until a signal comes; the database and the broker start first and stop last."""
    from flowapp.cli.control import control_plane

    began = time.monotonic()
    home = Home(flow_home())
    home.make()
    try:
        host, wanted = parse_bind(os.environ.get("FLOW_BIND") or "127.0.0.1:8000")
        with control_plane(with_broker=True, migrate=True):
            _disconnect()
            port = _choose_port(host, wanted)
            supervisor = Supervisor(_programs(host, port), home.logs)
            address = os.environ.get("FLOW_PUBLIC_URL") or f"http://{_bracketed(host)}:{port}"
            clean = supervisor.run(lambda: _announce(supervisor, host, port, address, began))
    except KeyboardInterrupt:
        clean = True
    return said({"stopped": True, "clean": clean}, "Stopped." if clean else "Stopped at once; see the logs.")


def _choose_port(host: str, wanted: int) -> int:
    """The wanted port, or the next free one after it; children read it from FLOW_BIND.

    It is chosen once the services have theirs.
    """
    port = wanted if is_free(wanted, host) else free_port(range(wanted + 1, wanted + 100), host)
    if port != wanted:
        print(f"Port {wanted} is taken; using {port}.", flush=True)
    os.environ["FLOW_BIND"] = f"{_bracketed(host)}:{port}"
    return port


def parse_bind(bind: str) -> tuple[str, int]:
    """`host:port` or `[v6]:port`; raises FlowError on anything else."""
    host, _, port = bind.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise FlowError("settings.invalid", f"FLOW_BIND is {bind!r}; use host:port, such as 127.0.0.1:8000.")
    return host, int(port)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _programs(host: str, port: int) -> list[Program]:
    web = (*_UVICORN, "--host", host, "--port", str(port), "--timeout-graceful-shutdown", "3")
    return [
        Program("web", (sys.executable, *web)),
        Program("scheduler", (sys.executable, "-m", "django", "flow_scheduler")),
        Program("worker", (sys.executable, *_CELERY, *_QUIET)),
    ]


def _announce(supervisor: Supervisor, host: str, port: int, address: str, began: float) -> bool:
    if not _answers(host, port):
        return False
    supervisor.say(f"\n  Flow is up at {address}  ({time.monotonic() - began:.1f} s; Ctrl-C stops it)\n")
    return True


def _answers(host: str, port: int) -> bool:
    """Whether the web process serves: the wildcard addresses are asked on the loopback."""
    target = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    connection = http.client.HTTPConnection(target, port, timeout=2)
    try:
        connection.request("GET", "/api/health/")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _disconnect() -> None:
    """The supervisor itself needs no database any more."""
    from django.db import connections

    connections.close_all()
