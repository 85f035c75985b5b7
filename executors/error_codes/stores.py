"""The codes of stores of files: buckets, containers and servers."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "source.connection_missing", "The source has no connection.", "Choose a stored connection for the source."
    ),
    ErrorCode(
        "source.content_encoded",
        "A web server sends a file with a content encoding that was not asked for.",
        "Let the server send stored bytes. Compressed files need no content encoding.",
    ),
    ErrorCode(
        "source.credentials_refused",
        "The store refuses the credentials of the connection.",
        "Replace the secret of the connection. A key may have been revoked or have expired.",
    ),
    ErrorCode(
        "source.host_key_changed",
        "The SFTP server does not show the confirmed host key.",
        "Ask the operator of the server whether its key was replaced. If it was, confirm the new key on the page of "
        "the connection. Otherwise another machine answers in its place.",
    ),
    ErrorCode(
        "source.host_key_unconfirmed",
        "The host key of an SFTP server is not confirmed.",
        "Test the connection, compare the fingerprint with that of the server, and confirm it.",
    ),
    ErrorCode(
        "source.index_unreadable",
        "A page cannot be read as a list of files.",
        "Use a page of HTML with links, a JSON list, or a text with one address per line; or name the files with urls.",
    ),
    ErrorCode(
        "source.no_ranges",
        "The server does not return the requested part of a file.",
        "Flow reads files in parts, so the server must support range requests. A proxy may remove them.",
    ),
    ErrorCode(
        "source.name_unusable",
        "The name of a file in the store cannot be used.",
        "Rename the file, or change the pattern so that it does not match.",
    ),
    ErrorCode(
        "source.no_versions",
        "The store has no versions (ETags) of its files.",
        "Remove atomicity from the source, or use a server that returns ETags. A proxy may remove them.",
    ),
    ErrorCode(
        "source.not_exclusive",
        "The store cannot ensure that only one run claims a file.",
        "Remove atomicity from the source, or use a server that supports conditional writes (If-None-Match) or, for "
        "SFTP, posix-rename@openssh.com.",
    ),
    ErrorCode(
        "source.not_public",
        "The address of a file is not public, and not on the server of the source's connection.",
        "Let an admin add a connection to this server, and choose it in the source.",
    ),
    ErrorCode(
        "source.permission_denied",
        "The store does not permit an operation.",
        "Give the key of the connection this permission. A test of the connection shows which ones it has.",
    ),
    ErrorCode(
        "source.redirect_refused",
        "A web server redirects too often, or to an address that is not allowed.",
        "Use the address that the server redirects to.",
    ),
    ErrorCode(
        "source.store_failed",
        "The store returns an unexpected error.",
        "Check the address of the connection and its TLS certificate. Test the connection.",
    ),
    ErrorCode(
        "source.store_missing",
        "The bucket, container or folder of a connection does not exist.",
        "Check the name, the region and the address of the connection.",
    ),
    ErrorCode(
        "source.store_unreachable",
        "The store does not respond.",
        "Check the address of the connection, the network, and whether the server runs.",
        status=503,
    ),
    ErrorCode(
        "source.store_unusable",
        "The settings of a connection to a store cannot be used.",
        "Check the address and the keys of the connection.",
    ),
)
