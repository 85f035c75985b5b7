"""FLOW_BIND: where the web process listens."""

from __future__ import annotations

from flowapp.embedded.ports import LOOPBACK
from ir.errors import FlowError

_DEFAULT = f"{LOOPBACK}:8000"


def parse_bind(bind: str | None) -> tuple[str, int]:
    """Host and port of `host:port` or `[v6]:port`, `127.0.0.1:8000` when there is none; FlowError on anything else."""
    host, _, port = (bind or _DEFAULT).rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise FlowError(
            "settings.invalid",
            f"FLOW_BIND is {bind!r}, which is not an address.",
            hint="Use host:port, such as 127.0.0.1:8000 or [::1]:8000.",
        )
    return host, int(port)


def format_bind(host: str, port: int) -> str:
    """The same as text."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
