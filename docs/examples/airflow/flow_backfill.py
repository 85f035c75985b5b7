"""A DAG for Airflow 3 that loads the chunks of a backfill of Flow, each in a task of its own.

The workers of Airflow need the command `flow` and the environment of the installation: FLOW_DATABASE_URL,
FLOW_REDIS_URL, FLOW_ENCRYPTION_KEYS and FLOW_SECRET_KEY. Set FLOW_PIPELINE to the id of the pipeline.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import timedelta

from airflow.sdk import dag, task

FLOW = os.environ.get("FLOW_COMMAND", "flow")
PIPELINE = os.environ.get("FLOW_PIPELINE", "events")
AT_ONCE = 4
"""As many as `parallelism` of the backfill."""
MOST = 500
"""The chunks of one DAG run; the next one continues. Airflow allows 1,024 mapped tasks."""
BUSY, COMPLETE = 3, 8


@dag(schedule=timedelta(minutes=15), catchup=False, max_active_runs=1)
def flow_backfill() -> None:
    @task
    def next_chunks() -> list[int]:
        """Return the numbers of chunks that no process has begun; none when all are loaded or none can run now."""
        command = [FLOW, "backfill", "next", PIPELINE, "--limit", str(MOST), "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode in (BUSY, COMPLETE):
            return []
        if done.returncode:
            raise RuntimeError(f"flow backfill next ended with {done.returncode}: {done.stdout}")
        return [chunk["chunk"] for chunk in json.loads(done.stdout)["chunks"]]

    @task(retries=5, retry_delay=timedelta(minutes=1), max_active_tis_per_dag=AT_ONCE)
    def load_chunk(chunk: int) -> None:
        """Load a chunk; a chunk that is loaded already ends at once. With another status the task is tried again."""
        status = subprocess.run([FLOW, "run", PIPELINE, "--chunk", str(chunk)]).returncode
        if status:
            raise RuntimeError(f"Chunk {chunk} ended with status {status}.")

    load_chunk.expand(chunk=next_chunks())


flow_backfill()
