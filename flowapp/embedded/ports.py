"""Free TCP ports on the loopback address."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable

LOOPBACK = "127.0.0.1"


def reserve_port(wanted: int, host: str = LOOPBACK) -> socket.socket:
    """A socket bound to the wanted port, or to the next free one, not listening yet; nobody else gets the port.

    Call `let_go_at_once` when someone listens on it. Raises OSError when the host has no such address.
    """
    for port in range(wanted, min(wanted + 100, 65536)):
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        # On for the bind, or connections of an earlier run would hold the port for a minute; off again, or
        # another process that sets it could bind the port too until someone listens.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
        except OSError as error:
            sock.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
            return sock
    raise OSError(errno.EADDRINUSE, f"no free port from {wanted} on")


def let_go_at_once(listening: socket.socket) -> None:
    """Let connections that this socket takes from now on not hold the port for a minute after their end."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen on `port` now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def free_port(preferred: Iterable[int] = (), host: str = LOOPBACK) -> int:
    """The first free one of the preferred ports, else any free one."""
    for port in preferred:
        if is_free(port, host):
            return port
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
