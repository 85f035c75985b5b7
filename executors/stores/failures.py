"""The failures of stores. No message repeats a secret. `what` is the failed operation, such as `listing 'orders/'`, and
`said` the error code of the server in parentheses, or empty."""

from __future__ import annotations

from executors.errors import Terminal, Transient
from executors.model import SourceFile


def unreachable(name: str, what: str) -> Transient:
    """Return the failure for a store that does not respond."""
    return Transient(
        "source.store_unreachable",
        f"{name} does not respond while {what}.",
        hint="Check the address of the connection, the network, and whether the server runs.",
    )


def store_missing(name: str, said: str = "") -> Terminal:
    """Return the failure for a bucket or container that does not exist."""
    return Terminal(
        "source.store_missing",
        f"{name} does not exist at this address{said}.",
        hint="Check the name, the region and the address of the connection.",
    )


def credentials_refused(name: str, said: str = "") -> Terminal:
    """Return the failure for wrong, revoked or expired credentials."""
    return Terminal(
        "source.credentials_refused",
        f"{name} refuses the credentials{said}.",
        hint="Replace the secret of the connection. A key may have been revoked or have expired.",
    )


def permission_denied(name: str, what: str, said: str = "") -> Terminal:
    """Return the failure for credentials that lack a permission."""
    return Terminal(
        "source.permission_denied",
        f"{name} does not permit {what}{said}.",
        hint="Give the key of the connection this permission. Test the connection to see which ones it has.",
    )


def store_failed(name: str, what: str, why: str) -> Terminal:
    """Return the failure for another error of the store."""
    return Terminal(
        "source.store_failed",
        f"{name} fails while {what}: {why}.",
        hint="Check the address of the connection and its TLS certificate. Test the connection.",
    )


def no_ranges(name: str, file: SourceFile) -> Terminal:
    """Return the failure for a server that does not return the requested part of a file."""
    return Terminal(
        "source.no_ranges",
        f"{name} did not return the requested part of {file.name}.",
        hint="Flow reads files in parts, so the server must support range requests. A proxy may remove them.",
    )


def no_versions(name: str) -> Terminal:
    """Return the failure for a server that does not show whether a file was replaced."""
    return Terminal(
        "source.no_versions",
        f"{name} returns no versions (ETags) of its files, so that a run cannot see whether one was replaced.",
        hint="Remove atomicity from the source, or use a server that returns ETags. A proxy may remove them.",
    )


def name_unusable(name: str, path: str) -> Terminal:
    """Return the failure for a file that the client cannot request by its exact name."""
    return Terminal(
        "source.name_unusable",
        f"{name} has a file {path!r}, which cannot be requested by this name.",
        hint="Names end without blanks, and no part of a path is empty, '.' or '..'. Rename the file, or change the "
        "pattern so that it does not match.",
    )
