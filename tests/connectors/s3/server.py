"""SeaweedFS, with one bucket."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from executors.model import StoreConnection
from executors.stores import open_store
from executors.stores.base import WritableStore
from flowapp.embedded.ports import LOOPBACK, free_port
from tests.connectors.server import StoreServer

BUCKET = "flow-test"
_IDENTITIES = {
    "writer": ["Read:flow-test", "Write:flow-test", "List:flow-test"],
    "reader": ["Read:flow-test", "List:flow-test"],
    "stranger": ["Read:another"],
}
"""What the keys of the server may do."""


@dataclass
class S3Server(StoreServer):
    kind = "s3"

    def connection(self, identity: str = "writer", **settings: object) -> StoreConnection:
        public = {"endpoint": self.endpoint, "region": "us-east-1", "bucket": BUCKET, "pathStyle": True}
        return StoreConnection(
            "files", "s3", {**public, "accessKey": f"{identity}-key", **settings}, {"secretKey": secret_of(identity)}
        )

    def _command(self) -> list[str | Path]:
        names = ("master", "volume", "filer")
        ports = [f"-{name}.port={free_port(range(self.port + 1 + i * 40, 32_000))}" for i, name in enumerate(names)]
        quiet = [
            "-admin.ui=false",
            "-webdav=false",
            # These have fixed ports, which a second server could not use.
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
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
        data = [f"-dir={self.folder / 'data'}", f"-bucket={BUCKET}", f"-s3.config={config}"]
        return [Path(sys.executable).with_name("weed"), "mini", *data, f"-s3.port={self.port}", *ports, *quiet]

    def _is_ready(self) -> bool:
        # It answers before it knows its keys.
        writer = open_store(self.connection())
        assert isinstance(writer, WritableStore)
        writer.create("ready", b"")
        return open_store(self.connection("reader")).stat("ready") is not None


def secret_of(identity: str) -> str:
    return f"{identity}-secret-0123456789"
