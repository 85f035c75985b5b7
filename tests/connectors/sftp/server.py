"""An SSH server on the loopback interface, which serves SFTP in one temporary folder: asyncssh's own, in a thread."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import asyncssh

from executors.model import StoreConnection
from flowapp.embedded.ports import LOOPBACK

USER, PASSWORD = "flow", "pass word/+%"


class Login(asyncssh.SSHServer):
    def __init__(self, server: SftpServer) -> None:
        self._server = server

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._server.connected += 1

    def begin_auth(self, username: str) -> bool:
        self._server.tried += 1
        return True

    def auth_completed(self) -> None:
        self._server.sign_ins += 1

    def password_auth_supported(self) -> bool:
        return True

    def validate_password(self, username: str, password: str) -> bool:
        return (username, password) in self._server.passwords.items()

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return key in self._server.client_keys


class Files(asyncssh.SFTPServer):
    """The server's files. `reader` cannot change any; without `renames` the server has no posix-rename."""

    server: SftpServer

    def _refuse(self) -> None:
        if self.channel.get_connection().get_extra_info("username") == "reader":
            raise asyncssh.SFTPPermissionDenied("read only")

    def open(self, path: bytes, pflags: int, attrs: asyncssh.SFTPAttrs) -> object:
        if pflags & ~asyncssh.FXF_READ:
            self._refuse()
        return super().open(path, pflags, attrs)

    def mkdir(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        self._refuse()
        super().mkdir(path, attrs)

    def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        self._refuse()
        if not self.server.renames:
            raise asyncssh.SFTPOpUnsupported("not supported")
        super().posix_rename(oldpath, newpath)


@dataclass
class SftpServer:
    """A running server. `stop` and `start` make it unreachable and reachable again, on the same port. `new_host_key`
    replaces its key from the next start on."""

    folder: Path
    port: int = 0
    passwords: dict[str, str] = field(default_factory=lambda: {USER: PASSWORD, "reader": PASSWORD})
    client_keys: list[asyncssh.SSHKey] = field(default_factory=list)
    host_key: asyncssh.SSHKey = field(default_factory=lambda: asyncssh.generate_private_key("ssh-ed25519"))
    renames: bool = True
    connected: int = 0
    tried: int = 0
    sign_ins: int = 0
    options: dict[str, object] = field(default_factory=dict)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _acceptor: asyncssh.SSHAcceptor | None = None
    _connections: list[asyncssh.SSHServerConnection] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._serve, name="sftp server", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    def connection(self, **settings: object) -> StoreConnection:
        public = {"host": LOOPBACK, "port": self.port, "user": USER, "folder": "", "hostKey": self.public_key}
        return StoreConnection("files", "sftp", {**public, **settings}, {"password": PASSWORD})

    @property
    def public_key(self) -> str:
        return " ".join(self.host_key.export_public_key("openssh").decode().split()[:2])

    @property
    def fingerprint(self) -> str:
        return self.host_key.get_fingerprint("sha256")

    def start(self) -> None:
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)

    async def _start(self) -> None:
        server = self

        class ServedFiles(Files):
            def __init__(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
                self.server = server
                server._connections.append(chan.get_connection())
                super().__init__(chan, chroot=str(server.folder).encode())

        self._acceptor = await asyncssh.listen(
            LOOPBACK,
            self.port,
            server_factory=lambda: Login(self),
            server_host_keys=[self.host_key],
            sftp_factory=ServedFiles,
            reuse_address=True,
            **{"config": None, **self.options},
        )
        self.port = self._acceptor.get_port()

    def stop(self) -> None:
        """Stop listening, and cut all connections."""

        async def stop() -> None:
            if self._acceptor is not None:
                self._acceptor.close()
                await self._acceptor.wait_closed()
            self._acceptor = None
            for connection in self._connections:
                connection.abort()
            self._connections.clear()

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(30)

    def cut(self) -> None:
        """Cut all connections, and go on listening."""
        self._loop.call_soon_threadsafe(lambda: [connection.abort() for connection in self._connections])

    def end(self) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        shutil.rmtree(self.folder, ignore_errors=True)


@cache
def shared_server() -> SftpServer:
    """Return the server of this process, started on first use and stopped when the process ends."""
    server = new_server()
    atexit.register(server.end)
    return server


def new_server(**options: object) -> SftpServer:
    server = SftpServer(Path(tempfile.mkdtemp(prefix="flow-sftp-")), options=options)
    server.start()
    return server
