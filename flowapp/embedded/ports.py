"""Free TCP ports on the loopback address."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterable

LOOPBACK = "127.0.0.1"


def reserve_port(wanted: int, host: str = LOOPBACK) -> socket.socket:
    """A socket that listens on the wanted port, or on the next free one, so that nobody else gets the port.

    Who connects before a program accepts waits for it. Raises OSError when the host has no such address.
    """
    for port in range(wanted, min(wanted + 100, 65536)):
        sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        # Or connections of an earlier run would hold the port for a minute. Another process that sets it could bind the
        # port too until someone listens, so that is done at once.
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
