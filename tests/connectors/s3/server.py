"""SeaweedFS on the loopback interface: one server for all tests of a process, with one bucket."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from executors.errors import Failure
from executors.model import StoreConnection
from executors.stores import open_store
from executors.stores.base import WritableStore
from flowapp.embedded.ports import LOOPBACK, free_port

BUCKET = "flow-test"
START_SECONDS = 30
_IDENTITIES = {
    "writer": ["Read:flow-test", "Write:flow-test", "List:flow-test"],
    "reader": ["Read:flow-test", "List:flow-test"],
    "stranger": ["Read:another"],
}
"""What the keys of the server may do."""


@dataclass
class S3Server:
    """A running server. `stop` and `start` make it unreachable and reachable again, with the same data."""

    folder: Path
    port: int
    _process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def connection(self, identity: str = "writer", **settings: object) -> StoreConnection:
        public = {"endpoint": self.endpoint, "region": "us-east-1", "bucket": BUCKET, "pathStyle": True}
        return StoreConnection(
            "files", "s3", {**public, "accessKey": f"{identity}-key", **settings}, {"secretKey": secret_of(identity)}
        )

    def start(self) -> None:
        ports = {"master": 0, "volume": 0, "filer": 0}
        flags = [f"-{name}.port={free_port(range(self.port + 1 + i * 40, 32_000))}" for i, name in enumerate(ports)]
        program = Path(sys.executable).with_name("weed")
        quiet = [
            "-admin.ui=false",
            "-webdav=false",
            "-master.telemetry=false",
            f"-ip={LOOPBACK}",
            f"-ip.bind={LOOPBACK}",
        ]
        config = self.folder / "s3.json"
        identities = [
            {"name": name, "credentials": [{"accessKey": f"{name}-key", "secretKey": secret_of(name)}], "actions": may}
            for name, may in {"owner": ["Admin"], **_IDENTITIES}.items()
        ]
        config.write_text(json.dumps({"identities": identities}))
        (self.folder / "data").mkdir(exist_ok=True)
        data = ("mini", f"-dir={self.folder / 'data'}", f"-bucket={BUCKET}", f"-s3.config={config}")
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [program, *data, f"-s3.port={self.port}", *flags, *quiet],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            # It answers before it knows its keys.
            with suppress(Failure):
                writer = open_store(self.connection())
                assert isinstance(writer, WritableStore)
                writer.create("ready", b"")
                if open_store(self.connection("reader")).stat("ready"):
                    return
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text(errors="replace")[-2000:])

    def stop(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


def secret_of(identity: str) -> str:
    return f"{identity}-secret-0123456789"


@cache
def shared_server() -> S3Server:
    """Return the server of this process, started on first use and stopped when the process ends."""
    return new_server()


def new_server() -> S3Server:
    folder = Path(tempfile.mkdtemp(prefix="flow-s3-"))
    server = S3Server(folder, free_port(range(20_000 + os.getpid() % 5_000, 31_000)))
    server.start()

    def end() -> None:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return server
