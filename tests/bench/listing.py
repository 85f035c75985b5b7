"""Lists a folder with many files on a server of each kind: the source of a run against the client library alone.

`python -m tests.bench.listing product|library` reads a `Place` as JSON and prints wall-clock seconds, CPU seconds of
this process and the memory in MB that the listing added.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from executors.model import StoreConnection
from executors.sources import load_file_source
from executors.sources.base import Claimant, SourceContext
from executors.stores import open_store
from executors.stores.opendal_store import OpendalStore
from executors.stores.ssh import sign_in
from ir.nodes import Source
from tests.connectors.object_sources import LATER
from tests.connectors.server import StoreServer, new_server
from tests.connectors.sftp import server as sftp
from tests.connectors.storages import OBJECT_STORES

AT_ONCE = 200
CONTENT = b"id\n1\n"


@dataclass(frozen=True)
class Place:
    """A folder on a running server."""

    connector: str
    path: str
    settings: dict[str, Any]
    secrets: dict[str, str]

    @property
    def connection(self) -> StoreConnection:
        return StoreConnection("files", self.connector, self.settings, self.secrets)


@dataclass(frozen=True)
class Listing:
    """`seconds` of wall-clock time, `cpu` seconds of the process that lists, and the `megabytes` it needed."""

    seconds: float
    cpu: float
    megabytes: float


@contextmanager
def filled(connector: str, files: int) -> Iterator[Place]:
    """Start a server, and write small files into a folder."""
    names = [f"orders-{i:07}.csv" for i in range(files)]
    with _sftp(names) if connector == "sftp" else _objects(OBJECT_STORES[connector], names) as place:
        yield place


@contextmanager
def _sftp(names: list[str]) -> Iterator[Place]:
    server = sftp.new_server()
    try:
        (server.folder / "in").mkdir()
        for name in names:
            (server.folder / "in" / name).write_bytes(CONTENT)
        yield _place(server.connection(), "in/")
    finally:
        server.end()


@contextmanager
def _objects(kind: type[StoreServer], names: list[str]) -> Iterator[Place]:
    server, path = new_server(kind), f"{uuid4()}/in/"
    try:
        store = open_store(server.connection())
        assert isinstance(store, OpendalStore)
        client = store._client.to_async_operator()

        async def write() -> None:
            for start in range(0, len(names), AT_ONCE):
                await asyncio.gather(*(client.write(path + name, CONTENT) for name in names[start : start + AT_ONCE]))

        asyncio.run(write())
        yield _place(server.connection(), path)
    finally:
        server.stop()


def _place(connection: StoreConnection, path: str) -> Place:
    return Place(connection.kind, path, dict(connection.settings), dict(connection.secrets))


def measure(place: Place, what: str) -> Listing:
    """List in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.listing", what]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, input=json.dumps(asdict(place)))
    return Listing(*map(float, done.stdout.split()))


# --- in that process --------------------------------------------------------------------------------------------


def _product(place: Place) -> Callable[[], int]:
    config = {"path": place.path, "pattern": {"type": "glob", "value": "*.csv"}, "format": {"type": "csv"}}
    node = Source(id="src", kind="source", connector=place.connector, connection="files", config=config)
    claimant = Claimant("orders", frozenset(["src"]), "run", 1)
    source = load_file_source(node, SourceContext(Path(), claimant, store=place.connection))
    return lambda: len(source.list_files(LATER, lambda files: ()).files)


def _library(place: Place) -> Callable[[], int]:
    if place.connector == "sftp":
        return partial(asyncio.run, _scan(place))
    store = open_store(place.connection)
    assert isinstance(store, OpendalStore)
    return lambda: sum(1 for _ in store._client.list(place.path))


async def _scan(place: Place) -> int:
    connection = await sign_in(place.connection)
    client = await connection.start_sftp_client()
    return sum([1 async for _ in client.scandir(place.path)])


def _peak() -> float:
    """Return the peak memory of this process in MB. `getrusage` would include that of its parent."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1000


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    action = {"product": _product, "library": _library}[sys.argv[1]](Place(**json.load(sys.stdin)))
    before, cpu, start = _peak(), _cpu(), time.perf_counter()
    action()
    print(time.perf_counter() - start, _cpu() - cpu, _peak() - before)
