"""A MariaDB of the test session: the server that the machine has, on a data folder and a port of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from executors.model import StoreConnection
from flowapp.embedded.ports import LOOPBACK, free_port

_SERVER, _INSTALL = shutil.which("mariadbd", path="/usr/sbin:/usr/bin"), shutil.which("mariadb-install-db")
WHY_NONE = "Debian's package mariadb-server is not installed"
has_mariadb = _SERVER is not None and _INSTALL is not None


class MariaDB:
    """A running server. `admin` may do everything, over the socket."""

    def __init__(self, folder: Path, port: int, options: Sequence[str] = ()) -> None:
        self.folder, self.port, self.options = folder, port, options
        self._process: subprocess.Popen[bytes] | None = None

    def connection(self) -> StoreConnection:
        """Return a connection that may only read the database `flow`."""
        settings = {"host": LOOPBACK, "port": self.port, "database": "flow", "user": "reader", "sslmode": "prefer"}
        return StoreConnection("shop", "mysql", settings, {"password": "secret of reader"})

    def run(self, *statements: str, database: str = "flow") -> None:
        """Run statements as the administrator."""
        subprocess.run(
            ["mariadb", f"--socket={self.folder}/socket", "-u", _user(), "--default-character-set=utf8mb4", database],
            input=";\n".join(statements).encode(),
            check=True,
        )

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = self._popen(log)
        self._await()

    def _popen(self, log: BinaryIO) -> subprocess.Popen[bytes]:
        assert _SERVER
        return subprocess.Popen(
            [
                _SERVER,
                "--no-defaults",
                f"--user={_user()}",
                f"--datadir={self.folder}/data",
                f"--socket={self.folder}/socket",
                f"--pid-file={self.folder}/pid",
                f"--port={self.port}",
                f"--bind-address={LOOPBACK}",
                "--skip-name-resolve",
                "--innodb-buffer-pool-size=32M",
                "--sql-mode=",  # so that tests can store what only lenient servers accept
                *self.options,
            ],
            stdout=subprocess.DEVNULL,
            stderr=log,
        )

    def stop(self) -> None:
        if self._process:
            self._process.terminate()
            self._process.wait(30)

    def kill(self) -> None:
        assert self._process
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        """Stop the server without closing its connections, as if its machine did not answer."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGCONT)

    def _await(self) -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(subprocess.CalledProcessError):
                subprocess.run(
                    ["mariadb-admin", f"--socket={self.folder}/socket", "-u", _user(), "ping"],
                    check=True,
                    capture_output=True,
                )
                return
            time.sleep(0.1)
        raise AssertionError((self.folder / "log").read_text())


def _user() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


@contextmanager
def running_mariadb(*options: str) -> Iterator[MariaDB]:
    """Start a server with the database `flow` and the user `reader`, who may only read."""
    assert _INSTALL
    folder = Path(tempfile.mkdtemp(prefix="flow-mariadb-"))
    command = [_INSTALL, "--no-defaults", f"--user={_user()}", f"--datadir={folder}/data", "--skip-test-db"]
    subprocess.run([*command, "--auth-root-authentication-method=socket"], check=True, capture_output=True)
    server = MariaDB(folder, free_port(range(20_000 + os.getpid() % 9_000, 30_000)), options)
    server.start()
    try:
        server.run(
            "CREATE DATABASE flow CHARACTER SET utf8mb4",
            f"CREATE USER reader@'{LOOPBACK}' IDENTIFIED BY 'secret of reader'",
            f"GRANT SELECT ON flow.* TO reader@'{LOOPBACK}'",
            database="mysql",
        )
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
