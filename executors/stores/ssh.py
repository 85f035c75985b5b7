"""SSH connections to a server whose key is known: safe algorithms only, and nothing from files or agents of this
machine."""

from __future__ import annotations

import asyncio
import logging
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import asyncssh

from executors.errors import Terminal
from executors.model import StoreConnection
from executors.stores.host_keys import HostKey

# It logs hosts, users and paths.
logging.getLogger("asyncssh").setLevel(logging.WARNING)

CONNECT_SECONDS, OPERATION_SECONDS, IDLE_SECONDS = 15.0, 60.0, 30.0
"""The limits of signing in and of one operation, and how long an unused connection stays open."""

_KEY_EXCHANGES = (
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group-exchange-sha256",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group18-sha512",
    "diffie-hellman-group14-sha256",
)
_CIPHERS = (
    "chacha20-poly1305@openssh.com",
    "aes256-gcm@openssh.com",
    "aes128-gcm@openssh.com",
    "aes256-ctr",
    "aes192-ctr",
    "aes128-ctr",
)
_MACS = (
    "hmac-sha2-256-etm@openssh.com",
    "hmac-sha2-512-etm@openssh.com",
    "hmac-sha2-256",
    "hmac-sha2-512",
)
_SIGNATURES = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
)

Result = TypeVar("Result")


class HostKeyChanged(Exception):
    """The server shows another key than the confirmed one. `offered` is None if it has none of the allowed kinds."""

    def __init__(self, offered: HostKey | None) -> None:
        super().__init__("the host key has changed")
        self.offered = offered


def _host_key(key: asyncssh.SSHKey) -> HostKey:
    words = key.export_public_key("openssh").decode().split()
    return HostKey(" ".join(words[:2]), key.get_fingerprint("sha256"))


async def offered_key(settings: Mapping[str, Any]) -> HostKey | None:
    """Return the key that the server shows, without signing in; None if it shows none of an allowed kind."""
    async with asyncio.timeout(CONNECT_SECONDS):
        try:
            key = await asyncssh.get_server_host_key(
                settings["host"],
                settings["port"],
                kex_algs=_KEY_EXCHANGES,
                server_host_key_algs=_SIGNATURES,
                config=None,
            )
        except asyncssh.KeyExchangeFailed:
            return None
    return _host_key(key) if key is not None else None


async def sign_in(connection: StoreConnection) -> asyncssh.SSHClientConnection:
    """Connect to the server and sign in. Raises HostKeyChanged before any secret is sent, Terminal
    `source.store_unusable`, and the errors of asyncssh and of the network."""
    settings, secrets = connection.settings, connection.secrets
    try:
        host_key = asyncssh.import_public_key(settings["hostKey"])
        keys = _private_keys(secrets)
    except ValueError:  # the library's text may repeat a part of the key
        raise Terminal(
            "source.store_unusable",
            f"A key of connection {connection.name!r} cannot be read, or its passphrase is wrong.",
            hint="Enter the private key in the format of OpenSSH or PEM, with its passphrase if it has one.",
        ) from None
    kinds = [alg.decode() for alg in host_key.sig_algorithms if alg.decode() in _SIGNATURES]
    try:
        return await asyncssh.connect(
            settings["host"],
            settings["port"],
            username=settings["user"],
            password=secrets.get("password") or None,
            client_keys=keys or None,
            known_hosts=([host_key], [], []),
            server_host_key_algs=kinds,
            kex_algs=_KEY_EXCHANGES,
            encryption_algs=_CIPHERS,
            mac_algs=_MACS,
            signature_algs=_SIGNATURES,
            compression_algs=None,
            config=None,
            agent_path=None,
            gss_host=None,
            x509_trusted_certs=None,
            connect_timeout=CONNECT_SECONDS,
            login_timeout=CONNECT_SECONDS,
            keepalive_interval=15,
            keepalive_count_max=3,
        )
    except (asyncssh.HostKeyNotVerifiable, asyncssh.KeyExchangeFailed):
        offered = await offered_key(settings)
        if offered is not None and offered.key == settings["hostKey"]:
            raise  # the key is the confirmed one, so something else failed
        raise HostKeyChanged(offered) from None


def _private_keys(secrets: Mapping[str, str]) -> list[asyncssh.SSHKey]:
    if not secrets.get("privateKey"):
        return []
    return [asyncssh.import_private_key(secrets["privateKey"].strip() + "\n", secrets.get("passphrase") or None)]


@dataclass(slots=True)
class _Open:
    """What a session has open. It outlives the session by the time it takes to close it."""

    connection: asyncssh.SSHClientConnection | None = None
    client: asyncssh.SFTPClient | None = None
    idle: asyncio.TimerHandle | None = None
    busy: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def close(self) -> None:
        if self.connection is not None:
            self.connection.abort()
        self.connection = self.client = None


class SftpSession:
    """One SFTP session for all threads of a process, in an event loop in a thread of its own. It connects when it is
    used, again after it was lost, and disconnects when it is unused."""

    def __init__(self, connection: StoreConnection) -> None:
        self._to, self._open = connection, _Open()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(self._loop,), name="sftp", daemon=True).start()
        # Not when the process ends: its sockets close anyway, and the thread may be gone.
        weakref.finalize(self, _stop, self._loop, self._open).atexit = False

    def run(self, action: Callable[[asyncssh.SFTPClient], Awaitable[Result]]) -> Result:
        """Return the result of an action in the session. Raises its errors, those of `sign_in`, and TimeoutError."""
        return asyncio.run_coroutine_threadsafe(self._run(action), self._loop).result()

    def drop(self) -> None:
        """Close the connection. The next action makes a new one."""
        self._loop.call_soon_threadsafe(self._open.close)

    async def _run(self, action: Callable[[asyncssh.SFTPClient], Awaitable[Result]]) -> Result:
        opened = self._open
        opened.busy += 1
        try:
            client = await self._client()
            async with asyncio.timeout(OPERATION_SECONDS):
                return await action(client)
        finally:
            opened.busy -= 1
            if opened.idle is not None:
                opened.idle.cancel()
            opened.idle = self._loop.call_later(IDLE_SECONDS, _close_if_idle, opened)

    async def _client(self) -> asyncssh.SFTPClient:
        opened = self._open
        async with opened.lock:
            if opened.client is None or opened.connection is None or opened.connection.is_closed():
                async with asyncio.timeout(2 * CONNECT_SECONDS):
                    opened.connection = await sign_in(self._to)
                    # Names are bytes, which need not be UTF-8.
                    opened.client = await opened.connection.start_sftp_client(path_errors="surrogateescape")
            return opened.client


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def _close_if_idle(opened: _Open) -> None:
    if not opened.busy:
        opened.close()


def _stop(loop: asyncio.AbstractEventLoop, opened: _Open) -> None:
    """Close the connection and end the thread."""

    async def end() -> None:
        connection = opened.connection
        opened.close()
        if connection is not None:
            await connection.wait_closed()
        loop.stop()

    asyncio.run_coroutine_threadsafe(end(), loop)
