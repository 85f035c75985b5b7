"""SFTP servers: files below one folder, moved by renames of the server."""

from __future__ import annotations

import asyncio
import posixpath
import stat as modes
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from heapq import nsmallest
from itertools import accumulate
from typing import TypeVar
from uuid import uuid4

import asyncssh

from executors.errors import Failure, Terminal
from executors.formats.files import changed
from executors.model import SourceFile, StoreConnection
from executors.stores.base import Entry, RenamingStore
from executors.stores.failures import unreachable
from executors.stores.host_keys import HostKey
from executors.stores.ssh import HostKeyChanged, SftpSession, offered_key

BATCH = 1000
"""The number of entries of a folder that are fetched at once."""

_MISSING = (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath)
_LOST = (
    asyncssh.SFTPConnectionLost,
    asyncssh.SFTPNoConnection,
    asyncssh.DisconnectError,
    asyncssh.ChannelOpenError,
    BrokenPipeError,
    ConnectionResetError,
)
Result = TypeVar("Result")
Action = Callable[[asyncssh.SFTPClient], Awaitable[Result]]


def open_store(connection: StoreConnection) -> SftpStore:
    """Raises Terminal `source.host_key_unconfirmed`."""
    if not connection.settings["hostKey"]:
        raise Terminal(
            "source.host_key_unconfirmed",
            f"The host key of connection {connection.name!r} is not confirmed, so nothing was sent to the server.",
            hint="Test the connection, compare the fingerprint with that of the server, and confirm it.",
        )
    return SftpStore(connection)


def read_host_key(connection: StoreConnection) -> HostKey | None:
    """Return the key that the server shows, without signing in; None if it has none of an allowed kind. Raises
    Transient `source.store_unreachable`."""
    try:
        return asyncio.run(offered_key(connection.settings))
    except (OSError, asyncssh.Error, TimeoutError):
        raise unreachable(_name_of(connection), "it is asked for its host key") from None


class SftpStore(RenamingStore):
    """The files below the folder of a connection. Names that are no UTF-8 have surrogates, as in `os.fsdecode`."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection, self._session = connection, SftpSession(connection)
        self._found_root = ""

    @property
    def name(self) -> str:
        return _name_of(self._connection)

    # --- reading ----------------------------------------------------------------------------------------------

    def list(self, folder: str, after: str = "", page: int | None = None) -> Iterator[Entry]:
        """A folder that does not exist has no entries. Links are not followed."""
        entries = (entry for entry in self._entries(folder) if entry.path > after)
        # The protocol has no order and no position, so each page reads the whole folder.
        yield from nsmallest(page, entries, key=lambda entry: entry.path) if page else entries

    def stat(self, path: str) -> Entry | None:
        """Links are followed; the path of the entry has none. Raises Terminal `source.path_outside`."""
        real = self._real(path)
        attrs = self._try(f"reading {shown(path)}", lambda sftp: sftp.lstat(real))
        if attrs is None:
            return None
        if attrs.permissions is not None and modes.S_ISLNK(attrs.permissions):
            raise self._outside(path)  # a server that does not resolve links
        return self._file(self._relative(real), attrs) if _is_file(attrs) else None

    def read(self, file: SourceFile, start: int, size: int) -> bytes:
        path = self._full(file.path)

        async def action(sftp: asyncssh.SFTPClient) -> tuple[bytes, asyncssh.SFTPAttrs]:
            async with sftp.open(path, "rb") as opened:
                data: bytes = await opened.read(size, start)
                return data, await opened.stat()

        found = self._try(f"reading {file.name!r}", action)
        if found is None:
            raise changed(file, "was deleted")
        data, attrs = found
        # After reading: the bytes are those of the listed file only if it is still the same.
        if len(data) != size or not file.is_same(self._file(file.path, attrs).as_file(file.name)):
            raise changed(file, "changed while it was read")
        return data

    def has_folder(self, folder: str) -> bool:
        real = self._real(folder)
        attrs = self._try(f"reading {shown(folder)}", lambda sftp: sftp.stat(real))
        return attrs is not None and attrs.permissions is not None and modes.S_ISDIR(attrs.permissions)

    # --- moving -----------------------------------------------------------------------------------------------

    def make_folder(self, folder: str) -> None:
        # Folder by folder: a server may resolve the links of a path only where all of it exists.
        for parent in accumulate(folder.strip("/").split("/"), posixpath.join):
            if not self.has_folder(parent):
                self._make(parent)

    def _make(self, folder: str) -> None:
        full = self._full(folder)
        try:
            self._session.run(lambda sftp: sftp.mkdir(full))
        except Exception as error:  # noqa: BLE001 - all errors of the network
            # Another run may have made it.
            if not isinstance(error, asyncssh.SFTPFailure | asyncssh.SFTPFileAlreadyExists) or not self.exists(folder):
                raise self._failure(error, f"creating {shown(folder)}") from None

    def remove_folder(self, folder: str) -> bool:
        path = self._full(folder)
        try:
            self._session.run(lambda sftp: sftp.rmdir(path))
        except asyncssh.SFTPError:
            return False
        except Exception as error:  # noqa: BLE001 - all errors of the network
            raise self._failure(error, f"deleting {shown(folder)}") from None
        return True

    def exists(self, path: str) -> bool:
        full = self._full(path)
        return self._try(f"reading {shown(path)}", lambda sftp: sftp.lstat(full)) is not None

    def take(self, path: str, to: str) -> bool:
        source, destination = self._full(path), self._full(to)

        async def action(sftp: asyncssh.SFTPClient) -> bool:
            await sftp.posix_rename(source, destination)
            return True

        what = f"moving {shown(path)}"
        if self._try(what, action, again=False):
            return True
        if self.exists(path):  # then the folder is missing, not the file
            raise self._failure(asyncssh.SFTPNoSuchPath("no such folder"), what)
        return False

    def move_if_free(self, path: str, to: str) -> bool:
        if self.exists(to):
            return False
        source, destination = self._full(path), self._full(to)
        try:
            self._session.run(lambda sftp: sftp.rename(source, destination))
        except Exception as error:  # noqa: BLE001 - all errors of the network
            if isinstance(error, asyncssh.SFTPError) and not isinstance(error, _LOST):
                if not self.exists(path):
                    raise changed(SourceFile(0, path, printable(path), 0, 0), "no longer exists") from None
                if self.exists(to):
                    return False
            raise self._failure(error, f"moving {shown(path)}") from None
        return True

    def moves_exclusively(self, folder: str) -> bool:
        test = f"{folder}.flow-test-{uuid4()}"
        first, second = self._full(f"{test}/1"), self._full(f"{test}/2")

        async def action(sftp: asyncssh.SFTPClient) -> bool:
            for path in (first, second):
                async with sftp.open(path, "xb"):
                    pass
            try:
                with suppress(asyncssh.SFTPError):
                    await sftp.rename(first, second)
                    return False
                with suppress(asyncssh.SFTPOpUnsupported):
                    await sftp.posix_rename(first, second)
                    return True
                return False
            finally:
                for path in (first, second):
                    with suppress(asyncssh.SFTPError):
                        await sftp.remove(path)

        self.make_folder(test)
        try:
            return bool(self._do("testing whether files can be moved", action))
        finally:
            self.remove_folder(test)

    # --- paths ------------------------------------------------------------------------------------------------

    @property
    def _root(self) -> str:
        """The folder of the connection without links."""
        if not self._found_root:
            folder = self._connection.settings["folder"]

            async def action(sftp: asyncssh.SFTPClient) -> str | None:
                real = str(await sftp.realpath(folder or "."))
                return real if await sftp.isdir(real) else None

            real = self._try(f"reading {shown(folder or '.')}", action)
            if real is None:
                raise Terminal(
                    "source.store_missing",
                    f"{self.name} has no folder {folder!r}.",
                    hint="Check the folder of the connection.",
                )
            self._found_root = real
        return self._found_root

    def _full(self, path: str) -> str:
        return posixpath.join(self._root, path.rstrip("/")) if path else self._root

    def _real(self, path: str) -> str:
        """Return the path on the server with links resolved. Raises Terminal `source.path_outside` if it is outside the
        folder of the connection."""
        full = posixpath.normpath(posixpath.join(self._root, path.strip("/")))
        found = self._try(f"reading {shown(path)}", lambda sftp: sftp.realpath(full))
        real = str(found) if found is not None else full  # some servers resolve only what exists
        for candidate in (full, real):
            if candidate != self._root and not candidate.startswith(f"{self._root.rstrip('/')}/"):
                raise self._outside(path)
        return real

    def _relative(self, real: str) -> str:
        return posixpath.relpath(real, self._root)

    def _outside(self, path: str) -> Terminal:
        return Terminal(
            "source.path_outside",
            f"{shown(path)} leads outside the folder of the connection.",
            hint="Put the files below this folder, or let an admin add a connection for another folder.",
        )

    # --- requests ---------------------------------------------------------------------------------------------

    def _entries(self, folder: str) -> Iterator[Entry]:
        real, what = self._real(folder), f"listing {shown(folder)}"
        names: AsyncIterator[asyncssh.SFTPName] | None = None

        async def batch(sftp: asyncssh.SFTPClient) -> list[asyncssh.SFTPName]:
            nonlocal names
            scan = names or sftp.scandir(real)
            found = []
            async for name in scan:
                found.append(name)
                if len(found) == BATCH:
                    break
            names = scan  # only now: a failed first batch begins again
            return found

        # Only the first batch can begin again; a listing that breaks off later is an error, not a short list.
        while found := self._try(what, batch) if names is None else self._do(what, batch):
            for name in found:
                if str(name.filename) not in (".", "..") and (entry := self._listed(folder, name)) is not None:
                    yield entry

    def _listed(self, folder: str, name: asyncssh.SFTPName) -> Entry | None:
        """Return a file, folder or link of a listing; None for anything else, such as a socket."""
        path, attrs = f"{folder}{name.filename!s}", name.attrs
        if attrs.permissions is None or attrs.size is None or attrs.mtime is None:
            full = self._full(path)
            found = self._try(f"reading {shown(path)}", lambda sftp: sftp.lstat(full))
            if found is None:
                return None
            attrs = found
        mode = attrs.permissions or 0
        if modes.S_ISDIR(mode):
            return Entry(f"{path}/")
        if modes.S_ISLNK(mode):
            return Entry(path, is_link=True)
        return self._file(path, attrs) if _is_file(attrs) else None

    def _file(self, path: str, attrs: asyncssh.SFTPAttrs) -> Entry:
        if attrs.size is None or attrs.mtime is None:
            raise Terminal(
                "source.store_failed",
                f"{self.name} does not return the size and time of {shown(path)}.",
                hint="Flow needs both to see whether a file changes. Use another server.",
            )
        return Entry(path, attrs.size, int(attrs.mtime) * 10**9)

    def _try(self, what: str, action: Action[Result], *, again: bool = True) -> Result | None:
        """Return the result of an action that changes nothing; None if a file or folder is missing. It is repeated once
        if the connection was lost."""
        try:
            return self._session.run(action)
        except _MISSING:
            return None
        except Exception as error:  # noqa: BLE001 - all errors of the network
            if isinstance(error, _LOST) and again and not isinstance(error, asyncssh.PermissionDenied):
                self._session.drop()
                return self._try(what, action, again=False)
            raise self._failure(error, what) from None

    def _do(self, what: str, action: Action[Result]) -> Result:
        """Return the result of an action that cannot be repeated."""
        try:
            return self._session.run(action)
        except Exception as error:  # noqa: BLE001 - all errors of the network
            raise self._failure(error, what) from None

    def _failure(self, error: Exception, what: str) -> Failure:
        """Translate an error. Texts of servers are not repeated, because they may contain anything."""
        if isinstance(error, Failure):
            return error
        if isinstance(error, HostKeyChanged):
            return self._key_changed(error.offered)
        if isinstance(error, asyncssh.PermissionDenied):
            return Terminal(
                "source.credentials_refused",
                f"{self.name} refuses the credentials of user {self._connection.settings['user']!r}.",
                hint="Replace the password or the key of the connection. The account may be locked.",
            )
        if isinstance(error, asyncssh.KeyExchangeFailed):
            return Terminal(
                "source.store_failed",
                f"{self.name} supports none of the algorithms that are safe.",
                hint="Update the server. Flow uses neither SHA-1 nor CBC ciphers.",
            )
        if isinstance(error, (*_LOST, OSError, TimeoutError)):
            self._session.drop()
            return unreachable(self.name, what)
        if isinstance(error, asyncssh.SFTPPermissionDenied):
            return Terminal(
                "source.permission_denied",
                f"{self.name} does not permit {what}.",
                hint="Give the user this permission. Test the connection to see which ones it has.",
            )
        if isinstance(error, asyncssh.SFTPOpUnsupported):
            return not_exclusive(self.name)
        if isinstance(error, asyncssh.Error | ValueError):
            return Terminal(
                "source.store_failed",
                f"{self.name} fails while {what}: {type(error).__name__}.",
                hint="See the log of the server. Test the connection.",
            )
        raise error

    def _key_changed(self, offered: HostKey | None) -> Terminal:
        shows = f"the key {offered.fingerprint}" if offered else "no key of an allowed kind"
        return Terminal(
            "source.host_key_changed",
            f"{self.name} does not show the confirmed host key but {shows}, so nothing was sent.",
            hint="Ask the operator of the server whether its key was replaced. If it was, confirm the new key on the "
            "page of the connection. Otherwise another machine answers in its place.",
        )


def not_exclusive(name: str) -> Terminal:
    """Return the failure for a server whose renames do not exclude each other."""
    return Terminal(
        "source.not_exclusive",
        f"{name} cannot move a file in one step, so that two runs could load one file.",
        hint="Remove atomicity from the source, or use a server with the extension posix-rename@openssh.com, such as "
        "OpenSSH.",
    )


def printable(path: str) -> str:
    """Return a path with the bytes that are not UTF-8 escaped."""
    return path.encode(errors="surrogateescape").decode("utf-8", "backslashreplace")


def shown(path: str) -> str:
    """Return a path for messages."""
    return repr(printable(path) or "/")


def _name_of(connection: StoreConnection) -> str:
    return f"SFTP server {connection.settings['host']}"


def _is_file(attrs: asyncssh.SFTPAttrs) -> bool:
    return attrs.permissions is None or modes.S_ISREG(attrs.permissions) or not modes.S_IFMT(attrs.permissions)
