"""FLOW_BIND: the address of the web process."""

from __future__ import annotations

from flowapp.embedded.ports import LOOPBACK
from ir.errors import FlowError

_DEFAULT = f"{LOOPBACK}:8000"


def parse_bind(bind: str | None) -> tuple[str, int]:
    """Parse `host:port` or `[v6]:port`; return host and port, `127.0.0.1:8000` without an address. Raises FlowError."""
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
    """Return host and port as text in the form of FLOW_BIND."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
