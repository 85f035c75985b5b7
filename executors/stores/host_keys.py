"""The host keys of SFTP servers, as connection tests show them."""

from __future__ import annotations

from dataclasses import dataclass

from executors.model import StoreConnection


@dataclass(frozen=True, slots=True)
class HostKey:
    """The public key of a server, as in a file known_hosts without the host, and its SHA-256 fingerprint."""

    key: str
    fingerprint: str


def read_host_key(connection: StoreConnection) -> HostKey | None:
    """Return the key that the server shows, without signing in; None if it has none of an allowed kind. Raises
    Transient `source.store_unreachable`."""
    from executors.stores.sftp import read_host_key as read  # It loads the driver.

    return read(connection)
