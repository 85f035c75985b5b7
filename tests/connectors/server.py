"""Servers of object stores on the loopback interface: one of each kind for all tests of a process."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from executors.errors import Failure
from executors.model import StoreConnection
from flowapp.embedded.ports import LOOPBACK, free_port
from tests.connectors.proxy import Proxy

START_SECONDS = 30


@dataclass
class StoreServer(ABC):
    """A running server. `stop` and `start` make it unreachable and reachable again, with the same data."""

    folder: Path
    port: int
    _process: subprocess.Popen[bytes] | None = None
    kind: ClassVar[str]
    ends_by: ClassVar[signal.Signals] = signal.SIGKILL

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @abstractmethod
    def connection(self, identity: str = "writer", **settings: object) -> StoreConnection:
        """Return a connection called `files`: the `writer` may do everything, the `reader` may list and read, a
        `stranger` nothing, and the keys of `nobody` are wrong."""

    def through(self, proxy: Proxy) -> StoreConnection:
        """Return the connection of the `writer` through a proxy, whose upstream is this server."""
        return self.connection(endpoint=proxy.endpoint)

    @abstractmethod
    def _command(self) -> list[str | Path]: ...

    @abstractmethod
    def _is_ready(self) -> bool:
        """May raise Failure while the server starts."""

    def _environment(self) -> dict[str, str]:
        return {}

    def start(self) -> None:
        command = self._command()
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **self._environment()},
            )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with suppress(Failure):
                if self._is_ready():
                    return
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text(errors="replace")[-2000:])

    def stop(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, self.ends_by)
            self._process.wait()
            self._process = None


def new_server(server: Callable[[Path, int], StoreServer]) -> StoreServer:
    """Start a server of a class. It ends with this process at the latest."""
    folder = Path(tempfile.mkdtemp(prefix="flow-store-"))
    made = server(folder, free_port(range(20_000 + os.getpid() % 5_000, 31_000)))
    made.start()

    def end() -> None:
        made.stop()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return made


@cache
def shared_server(server: Callable[[Path, int], StoreServer]) -> StoreServer:
    """Return the server of a class of this process, started on first use."""
    return new_server(server)
