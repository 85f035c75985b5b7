"""Small jobs on the executors: one checks that they can run the work, one starts their workers."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from executors.errors import Terminal
from executors.spark.errors import translate
from executors.spark.jobs import frame_of_numbers, map_task

NEEDED = ("pyarrow", "numpy", "psycopg", "pgpq", "cryptography", "pydantic", "re2", "wasmtime", "executors", "ir")
"""The packages that reader and sink import."""

TASKS = 8
"""Enough to reach every core of a small cluster. Of a larger cluster only some executors are checked."""


def probe_cluster(session: SparkSession, encrypted_connection: str | None = None) -> None:
    """Check that the executors can run reader and sink.

    Raises Terminal `spark.executor_lacks` with the names of the missing packages, and `secrets.…` if the executors
    cannot decrypt the connection.
    """
    needed = NEEDED

    # Nested, so that it is serialized with its code: an executor without Flow could not import it.
    def probe(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import json

        import pyarrow as pa

        for batch in numbers:
            lacking = json.dumps([name for name in needed if importlib.util.find_spec(name) is None])
            yield pa.RecordBatch.from_pydict({"lacking": [lacking] * batch.num_rows})

    with translate():
        rows = frame_of_numbers(session, TASKS).mapInArrow(probe, "lacking string").collect()
    lacking = sorted({name for row in rows for name in json.loads(row["lacking"])})
    if lacking:
        raise Terminal(
            "spark.executor_lacks",
            f"Spark's executors do not have the Python packages {', '.join(lacking)}.",
            hint="Install Flow with its dependencies in the executors' Python.",
        )
    if encrypted_connection is not None:
        _run(session, DecryptTask(encrypted_connection))


def warm_workers(session: SparkSession) -> None:
    """Start the Python workers, import the modules that tasks need and have the JVM compile the code of a pass."""
    _run(session, WarmTask())


def _run(session: SparkSession, task: DecryptTask | WarmTask) -> None:
    with translate():
        frame = map_task(frame_of_numbers(session, TASKS), task, "number long")
        map_task(frame.select((F.col("number") + 1).alias("number")), task, "number long").collect()


@dataclass(frozen=True, slots=True)
class DecryptTask:
    """Decrypts a connection and discards the result."""

    encrypted_connection: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from executors.secrets import decrypt

        decrypt(self.encrypted_connection)
        yield from batches


@dataclass(frozen=True, slots=True)
class WarmTask:
    """Imports the modules of reader and sink."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import executors.spark.sink  # noqa: F401

        yield from batches
