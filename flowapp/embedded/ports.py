"""Free TCP ports on the loopback address."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable

LOOPBACK = "127.0.0.1"


def reserve_port(wanted: int, host: str = LOOPBACK) -> socket.socket:
    """Return a socket that listens on the wanted port or the next free one, so that no other process gets the port.

    Clients that connect before a program accepts connections wait for it. Raises OSError if the host does not have this
    address."""
    for port in range(wanted, min(wanted + 100, 65536)):
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        # Without this, connections of an earlier run would block the port for a minute. Another process that sets it
        # could bind the same port until a process listens, so listen at once.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
            sock.listen()
        except OSError as error:
            sock.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
        else:
            return sock
    raise OSError(errno.EADDRINUSE, f"no free port from {wanted} on")


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Return whether a server could listen on `port` now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def free_port(preferred: Iterable[int] = (), host: str = LOOPBACK) -> int:
    """Return the first free port of the preferred ones, else any free port."""
    for port in preferred:
        if is_free(port, host):
            return port
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
