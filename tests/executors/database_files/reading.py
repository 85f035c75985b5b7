"""Reads a database file as a run does, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from executors.reading import Bound, Reading
from executors.sources import load_snapshot_source
from executors.sources.base import Claimant, SnapshotSource, SourceContext
from ir.nodes import Source


def source_of(folder: Path, connector: str, config: Mapping[str, Any], **context: Any) -> SnapshotSource:
    source = Source(id="src", kind="source", connector=connector, config=dict(config))
    return load_snapshot_source(source, SourceContext(folder, Claimant("p", frozenset({"src"}), "run-1"), **context))


def read(
    folder: Path, connector: str, config: Mapping[str, Any], bound: Bound | None = None, **context: Any
) -> tuple[Reading, list[dict[str, Any]]]:
    """Return the reading of a source, and its rows without the trailer."""
    handler = source_of(folder, connector, config, **context)
    with ExitStack() as stack:
        handler.open(stack)
        reading = handler.reading(is_last=True)
        bounded = reading.with_bound(bound) if bound is not None and reading.with_bound else reading
        rows = rows_of(bounded)
    return reading, rows


def rows_of(reading: Reading) -> list[dict[str, Any]]:
    (part,) = reading.parts
    rows = [row for batch in reading.reader.read(part, reading.fields) for row in batch.to_pylist()]
    assert rows[-1]["_flow_record"] == -len(rows)  # the trailer: minus one, minus the number of rows
    return rows[:-1]
