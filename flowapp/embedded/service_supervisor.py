"""The process that owns an embedded service: `python -m flowapp.embedded.service_supervisor FLOW_HOME SERVICE`.

It runs in the background as long as any process uses the service. It restarts the service if it dies, and stops it when
the last user is gone, even if that user was killed. It answers on standard output with one line of JSON: `ready`,
`busy` (another supervisor owns the service) or `error`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Protocol

from flowapp.embedded.accounts import Account, server_account, server_folder
from flowapp.embedded.errors import EmbeddedError
from flowapp.embedded.home import Home, Secrets, load_secrets, read_json, write_atomically
from flowapp.embedded.locks import FileLock
from flowapp.embedded.logs import ServerLog
from flowapp.embedded.ports import free_port, is_free
from flowapp.embedded.postgres import Postgres
from flowapp.embedded.valkey import Valkey

_PAUSE = 0.1
_ATTEMPTS = 5


class Server(Protocol):
    """A server that a supervisor runs."""

    ports: range

    def __init__(self, folder: Path, account: Account, log: ServerLog, secrets: Secrets) -> None: ...

    @property
    def pid(self) -> int | None:
        """Return the process id of the running server, or None."""

    def end_leftover(self, pid: int) -> None:
        """End the server `pid` of a dead supervisor, if it is still running."""

    def start(self, port: int) -> None:
        """Start the server; return when it accepts connections."""

    def stop(self) -> None: ...


SERVERS: dict[str, type[Server]] = {"postgres": Postgres, "redis": Valkey}


class ServiceSupervisor:
    """Runs one service of one home. Single-threaded, because the server ends with the thread that starts it."""

    def __init__(self, home: Home, name: str) -> None:
        self._files, secrets = home.service(name), load_secrets(home)
        account = server_account(home.root)
        folder = server_folder(account, home.root, secrets.id)
        self._log = ServerLog(home.logs / f"{name}.log")
        self._server = SERVERS[name](folder, account, self._log, secrets)
        self._port = 0

    def start(self) -> None:
        """Start the server, on its last port if that is free."""
        stale = read_json(self._files.state) or {}
        self._files.state.unlink(missing_ok=True)
        self._server.end_leftover(stale.get("pid", 0))
        self._start_on_free_port()
        self._write_state()

    def _start_on_free_port(self) -> None:
        """Choose another port if another process takes the chosen one first: creating a cluster takes seconds."""
        for attempt in range(_ATTEMPTS):
            self._port = free_port([*_last_port(self._files.port), *self._server.ports])
            write_atomically(self._files.port, str(self._port))
            try:
                return self._server.start(self._port)
            except EmbeddedError:
                if attempt == _ATTEMPTS - 1 or is_free(self._port):
                    raise

    def watch(self) -> None:
        """Restart the server whenever it ends; return when no process uses the service any more."""
        users = FileLock(self._files.users_lock)
        while not users.take():
            time.sleep(_PAUSE)
            self._log.rotate()
            if self._server.pid is None:
                self._server.start(self._port)
                self._write_state()

    def stop(self) -> None:
        """Remove the state file, so that no process joins, and stop the server."""
        self._files.state.unlink(missing_ok=True)
        self._server.stop()

    def _write_state(self) -> None:
        state = {"port": self._port, "pid": self._server.pid, "supervisor": os.getpid()}
        write_atomically(self._files.state, json.dumps(state))


def main(root: str, name: str) -> None:
    """Run the service `name` of `root` until no process uses it."""
    home = Home(Path(root))
    if os.fork():
        os._exit(0)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    lock = FileLock(home.service(name).owner_lock)
    if lock.take():
        _own(home, name)
    else:
        _answer({"state": "busy"})


def _own(home: Home, name: str) -> None:
    supervisor = None
    try:
        supervisor = ServiceSupervisor(home, name)
        supervisor.start()
        _answer({"state": "ready"})
        supervisor.watch()
    except EmbeddedError as error:
        _answer({"state": "error", **error.to_json()})
    finally:
        if supervisor:
            supervisor.stop()


def _last_port(path: Path) -> list[int]:
    try:
        return [int(path.read_text())]
    except (FileNotFoundError, ValueError):
        return []


def _answer(reply: dict[str, Any]) -> None:
    """Reply to the process that started this one, if it still runs, and close standard output."""
    try:
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    finally:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
