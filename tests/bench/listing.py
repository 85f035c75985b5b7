"""Lists a folder of an S3 bucket with many objects: the source of a run against the driver alone.

`python -m tests.bench.listing PORT FOLDER product|driver` prints seconds and the memory in MB that the listing added.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.connectors.object_sources import LATER, source_of
from tests.connectors.object_storage import ObjectStorage
from tests.connectors.s3.server import S3Server
from tests.connectors.server import shared_server

AT_ONCE = 200


def fill(objects: int) -> ObjectStorage:
    """Write small objects into a folder of their own."""
    storage = ObjectStorage(shared_server(S3Server))
    client = storage.client._client.to_async_operator()

    async def write() -> None:
        for start in range(0, objects, AT_ONCE):
            names = (f"{storage.path}orders-{i:07}.csv" for i in range(start, min(start + AT_ONCE, objects)))
            await asyncio.gather(*(client.write(name, b"id\n1\n") for name in names))

    asyncio.run(write())
    return storage


def measure(storage: ObjectStorage, what: str) -> tuple[float, float]:
    """Return seconds and MB, of a process of its own."""
    command = [sys.executable, "-m", "tests.bench.listing", str(storage.server.port), storage.path, what]
    seconds, megabytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(megabytes)


def _product(storage: ObjectStorage) -> Callable[[], int]:
    source = source_of(storage, atomicity=None)
    return lambda: len(source.list_files(LATER, lambda files: ()).files)


def _driver(storage: ObjectStorage) -> Callable[[], int]:
    client = storage.client._client
    return lambda: sum(1 for _ in client.list(storage.path))


def _peak() -> float:
    """Return the peak memory of this process in MB. `getrusage` would include that of its parent."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1000


if __name__ == "__main__":
    port, folder, what = sys.argv[1:]
    storage = ObjectStorage(S3Server(Path(), int(port)), path=folder)
    action = {"product": _product, "driver": _driver}[what](storage)
    storage.exists("nothing")
    before, start = _peak(), time.perf_counter()
    action()
    seconds = time.perf_counter() - start
    print(seconds, _peak() - before)
