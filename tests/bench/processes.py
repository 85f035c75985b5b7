"""The product as processes: a cold `flow run`, and a warm worker from request to loaded rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.product import COLUMNS, RULES

FLOW = str(Path(sys.executable).parent / "flow")
ROWS = 1_000
FIRST_KEY = int(time.time()) * 1_000_000
"""Keys that no earlier benchmark loaded: a file with the same bytes would be skipped."""


def flow(*arguments: str, password: str = "") -> dict[str, Any]:
    done = subprocess.run(
        [FLOW, *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "FLOW_CONNECTION_PASSWORD": password},
    )
    return dict(json.loads(done.stdout))


def make_pipeline(home: Path) -> Path:
    """Return the document of a pipeline that appends `small/*.csv` with five rules to `public.orders`."""
    folder = home / "files" / "default" / "small"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    document = {
        "kind": "pipeline",
        "version": "1.0",
        "id": "bench-small",
        "nodes": [
            {
                "id": "src",
                "kind": "source",
                "connector": "local_fs",
                "columns": COLUMNS,
                "config": {
                    "path": "small/",
                    "pattern": {"type": "glob", "value": "*.csv"},
                    "format": {"type": "csv"},
                    "waitPolicy": {"settleSeconds": 0},
                },
            },
            {
                "id": "check",
                "kind": "validate",
                "inputs": ["src"],
                "rowLevel": RULES,
                "quarantine": {"enabled": True, "table": "public.rejected"},
            },
            {
                "id": "load",
                "kind": "target",
                "inputs": ["check"],
                "connector": "postgres",
                "connection": "warehouse",
                "schema": "public",
                "table": "orders",
                "loadMode": "append",
            },
        ],
    }
    path = home / "bench-small.json"
    path.write_text(json.dumps(document))
    return path


def put_file(home: Path, csv: Path, number: int) -> None:
    """Write a file of 1,000 rows with new keys."""
    header, *lines = csv.read_text().splitlines()[: ROWS + 1]
    cells = [line.split(",", 1) for line in lines]
    shifted = [f"{int(key) + FIRST_KEY + number * ROWS},{rest}" for key, rest in cells]
    (home / "files" / "default" / "small" / f"{number}.csv").write_text("\n".join([header, *shifted]) + "\n")


@contextmanager
def running_worker() -> Iterator[None]:
    """Run `flow up` with a warm worker."""
    process = subprocess.Popen([FLOW, "up"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def from_request_to_loaded(pipeline: str, workspace: str) -> float:
    """Return the seconds from the request of a run, as the web process sends it, to its end."""
    from flowapp.pipelines.models import Pipeline
    from flowapp.runs.models import ENDED, Run, Trigger
    from flowapp.runs.services import queue_run

    start = time.perf_counter()
    run = queue_run(Pipeline.objects.get(slug=pipeline, workspace__slug=workspace), Trigger.API)
    while Run.objects.values_list("state", flat=True).get(pk=run.pk) not in ENDED:
        time.sleep(0.01)
    seconds = time.perf_counter() - start
    run.refresh_from_db()
    if run.state != "succeeded_with_warnings":
        raise AssertionError(f"the run is {run.state}: {run.error_message}")
    return seconds


def time_cold_run(document: Path) -> float:
    start = time.perf_counter()
    flow("run", str(document))
    return time.perf_counter() - start
