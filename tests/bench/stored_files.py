"""Files of a folder and of a bucket, loaded by whole runs of the product with its control database.

The runs are executed in this process, on its warm Spark session. Each is the first run of a pipeline of its own, so
that no file counts as loaded.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pyarrow as pa
from pyarrow import csv, parquet

from executors.model import Connection
from flowapp.cli.control import control_plane
from tests.bench import peers
from tests.bench.product import COLUMNS, make_target
from tests.connectors.object_storage import ObjectStorage
from tests.connectors.s3.server import S3Server
from tests.connectors.server import shared_server

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace

SLUG = "bench-files"
HERE = Path(__file__).parent
PART_BYTES = 8 << 20
AT_ONCE = 16
_TYPES = {
    "order_id": pa.int64(),
    "customer_id": pa.int64(),
    "age": pa.int32(),
    "amount": pa.decimal128(12, 2),
    "updated_at": pa.timestamp("us"),
}


@dataclass
class StoredFiles:
    """A workspace with a folder and a bucket. `load` runs a new pipeline."""

    workspace: Workspace
    dsn: str
    folder: Path
    bucket: ObjectStorage = field(default_factory=lambda: ObjectStorage(shared_server(S3Server)))

    def load(self, connector: str, path: str, fmt: str = "csv", rows: int | None = None) -> float:
        """Return the seconds of a run that appends all files of a folder to `public.orders`, which had no rows.
        `connector` is `local_fs` or `s3`."""
        from flowapp.pipelines.services import save_version
        from flowapp.runs.dispatch import run_inline

        make_target(self.dsn, peers.DDL)
        version = save_version(self.workspace, json.dumps(_document(connector, path, fmt)))
        start = time.perf_counter()
        run = run_inline(version.pipeline)
        seconds = time.perf_counter() - start
        with psycopg.connect(self.dsn) as c:
            (loaded,) = c.execute("select count(*) from public.orders").fetchone() or (None,)
        if run.state != "succeeded" or rows not in (None, loaded):
            raise AssertionError(f"the run is {run.state} with {loaded} rows: {run.error_message}")
        return seconds

    @contextmanager
    def local(self) -> Iterator[Path]:
        """Make a folder of the workspace, which is removed at the end."""
        folder = self.folder / str(uuid.uuid4())
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def upload(self, files: Iterable[Path]) -> str:
        """Copy files to a folder of their own in the bucket, and return its path."""
        path = f"{uuid.uuid4()}/"
        client = self.bucket.client._client

        def write(file: Path) -> None:
            with client.open(path + file.name, "wb") as out, file.open("rb") as content:
                shutil.copyfileobj(content, out, PART_BYTES)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in pool.map(write, files):
                pass
        return path

    def remove(self, path: str) -> None:
        self.bucket.client._client.remove_all(path)


@contextmanager
def stored_files(warehouse: Connection, dsn: str) -> Iterator[StoredFiles]:
    """Set up the control database, the workspace and its connections."""
    with control_plane():
        from django.conf import settings

        from flowapp.accounts.services import ensure_workspace
        from flowapp.connections.fields import ConnectionFields
        from flowapp.connections.services import add_connection
        from flowapp.connections.store_fields import StoreFields

        workspace = ensure_workspace(f"{SLUG}-{uuid.uuid4().hex[:8]}")
        found = StoredFiles(workspace, dsn, settings.FILES_ROOT / workspace.slug)
        w = warehouse
        add_connection(
            workspace, "warehouse", ConnectionFields("postgres", w.host, w.port, w.database, w.user, w.password)
        )
        store = found.bucket.connection
        add_connection(workspace, "files", StoreFields(store.kind, store.settings, store.secrets))
        yield found


def _document(connector: str, path: str, fmt: str) -> dict[str, Any]:
    source: dict[str, Any] = {"id": "src", "kind": "source", "connector": connector}
    if connector != "local_fs":
        source["connection"] = "files"
    if fmt == "csv":
        source["columns"] = COLUMNS
    source["config"] = {
        "path": path,
        "pattern": {"type": "glob", "value": "*"},
        "format": {"type": fmt},
        "waitPolicy": {"settleSeconds": 0},
    }
    target = {
        "id": "load",
        "kind": "target",
        "inputs": ["src"],
        "connector": "postgres",
        "connection": "warehouse",
        "schema": "public",
        "table": "orders",
        "loadMode": "append",
    }
    return {"kind": "pipeline", "version": "1.0", "id": f"files-{uuid.uuid4()}", "nodes": [source, target]}


# --- files ------------------------------------------------------------------------------------------------------


def write_parquet(file: Path, to: Path) -> None:
    """Write the rows of a CSV file as Parquet."""
    table = csv.read_csv(file, convert_options=csv.ConvertOptions(column_types=_TYPES))
    parquet.write_table(table, to)


def write_parts(file: Path, to: Path, parts: int) -> int:
    """Write the rows of a CSV file to many files with its header, and return the number of rows."""
    header, *lines = file.read_bytes().splitlines(keepends=True)
    each = -(-len(lines) // parts)
    for part in range(parts):
        (to / f"part-{part:06}.csv").write_bytes(b"".join([header, *lines[part * each : (part + 1) * each]]))
    return len(lines)


def write_csv(to: Path, rows: int) -> None:
    subprocess.run([sys.executable, HERE / "orders_csv.py", str(rows), to, "--bad-every", "0"], check=True)
