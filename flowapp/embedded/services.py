"""Use of the embedded services: start or join them, get their addresses, release them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from flowapp.embedded.errors import EmbeddedError
from flowapp.embedded.home import PROJECT, Home, Secrets, ServiceFiles, flow_home, load_secrets, read_json
from flowapp.embedded.locks import FileLock, is_held
from flowapp.embedded.ports import LOOPBACK
from flowapp.embedded.postgres import CONTROL

BOTH = ("postgres", "redis")
_PATIENCE = 90.0


@dataclass(frozen=True)
class ServiceAddresses:
    """The addresses of the services. The URLs contain passwords and are never printed."""

    secrets: Secrets = field(repr=False)
    ports: Mapping[str, int]

    @property
    def database_url(self) -> str:
        """Return the URL of the control database."""
        return f"postgresql://{CONTROL}:{self.secrets.control}@{LOOPBACK}:{self.ports['postgres']}/{CONTROL}"

    @property
    def redis_url(self) -> str:
        return f"redis://:{self.secrets.broker}@{LOOPBACK}:{self.ports['redis']}/0"


class Claim:
    """A claim on one service. The service runs at least until `close`, or until this process ends.

    `has_started` means that this process started the service and did not join a running one."""

    def __init__(self, home: Home, name: str, secrets: Secrets) -> None:
        """Start the service or join it. Raises `EmbeddedError` if it does not start."""
        self._files = home.service(name)
        self._users = FileLock(self._files.users_lock)
        self._users.share()
        try:
            self.port, self.has_started = _start_or_join(home, name, secrets)
        except BaseException:
            self._users.release()
            raise

    def close(self) -> None:
        """Release the claim. If no other process uses the service, return when it has stopped."""
        self._users.release()
        end = time.monotonic() + 20
        while is_held(self._files.owner_lock) and time.monotonic() < end:
            if _others_use(self._files):
                return
            time.sleep(0.02)


class Services:
    """Claims on the services of a home: `postgres` (control database and warehouses), `redis`, or both."""

    def __init__(self, home: Home, names: Sequence[str]) -> None:
        self._secrets = load_secrets(home)
        self._claims: dict[str, Claim] = {}
        try:
            for name in names:
                self._claims[name] = Claim(home, name, self._secrets)
        except BaseException:
            self.close()
            raise

    @classmethod
    def start(cls, root: Path | None = None, names: Sequence[str] = BOTH) -> Self:
        """Start services of FLOW_HOME (`root` if given), or join running ones.

        Raises `EmbeddedError` if this machine cannot run them."""
        home = Home(root or flow_home())
        home.make()
        return cls(home, names)

    @property
    def addresses(self) -> ServiceAddresses:
        return ServiceAddresses(self._secrets, {name: claim.port for name, claim in self._claims.items()})

    def has_started(self, name: str) -> bool:
        """Return whether this process started that service and did not join a running one."""
        return name in self._claims and self._claims[name].has_started

    def close(self) -> None:
        """Release all claims, the database last."""
        for claim in reversed(self._claims.values()):
            claim.close()
        self._claims.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def is_running(name: str) -> bool:
    """Return whether a service of FLOW_HOME is running, started by any process."""
    return is_held(Home(flow_home()).service(name).owner_lock)


def _start_or_join(home: Home, name: str, secrets: Secrets) -> tuple[int, bool]:
    """Return the port of the service, and whether this process started it."""
    files = home.service(name)
    end = time.monotonic() + _PATIENCE
    has_started = False
    while time.monotonic() < end:
        if not is_held(files.owner_lock):
            _start_supervisor(home, name)
            has_started = True
        state = read_json(files.state)
        if state and _ANSWERS[name](ServiceAddresses(secrets, {name: state["port"]})):
            return int(state["port"]), has_started
        time.sleep(0.03)
    raise EmbeddedError(
        "embedded.not_answering",
        f"The embedded {name} of {home.root} did not answer within {_PATIENCE:.0f} s.",
        hint=f"See the logs in {home.logs}.",
    )


def _postgres_answers(addresses: ServiceAddresses) -> bool:
    try:
        psycopg.connect(addresses.database_url, sslmode="disable", connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _redis_answers(addresses: ServiceAddresses) -> bool:
    import redis  # Most commands need no broker, and this takes long to load.

    try:
        with redis.Redis.from_url(addresses.redis_url, socket_timeout=5) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


_ANSWERS = {"postgres": _postgres_answers, "redis": _redis_answers}


def _start_supervisor(home: Home, name: str) -> None:
    """Start a supervisor and wait until its server runs, another supervisor owns the service, or the start fails."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")}
    log_path = home.logs / f"{name}-supervisor.log"
    with open(log_path, "ab") as log:
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "flowapp.embedded.service_supervisor", str(home.root), name],
            cwd=PROJECT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    assert supervisor.stdout is not None  # noqa: S101
    with supervisor.stdout as answers:
        reply = json.loads(answers.readline() or "{}")
    supervisor.wait()
    if reply.get("state") == "error":
        raise EmbeddedError(reply["code"], reply["message"], hint=reply["hint"])
    if not reply:
        raise EmbeddedError(
            "embedded.supervisor_died",
            f"The supervisor of the embedded {name} ended before the server was up.",
            hint=f"See {log_path}.",
        )


def _others_use(files: ServiceFiles) -> bool:
    """Return whether another process uses the service. A supervisor that is stopping has deleted its state file."""
    for _ in range(3):
        if not is_held(files.users_lock) or not files.state.exists():
            return False
        time.sleep(0.03)
    return True
