"""The first records of a web service, from which the types of its columns are detected while a page waits."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer

from executors.model import StoreConnection
from executors.sources.base import Claimant, RowLimit, SourceContext
from executors.sources.http_api import HttpApi
from executors.sources.spooled import Spool
from ir.nodes import Source


def sample_records(source: Source, store: StoreConnection | None, rows: int, seconds: float) -> bytes:
    """Return the first records of a web service as JSON lines, without those of an earlier load. Nothing is stored.
    Raises Failure, also if the service takes longer than `seconds`."""
    with TemporaryDirectory(prefix="flow-sample-") as folder:
        context = SourceContext(
            Path(folder),
            Claimant("", frozenset([source.id])),
            store=store,
            limit=RowLimit(rows),
            most_seconds=seconds,
            read_only=True,
        )
        handler, path = HttpApi(source, context), Path(folder) / "records.jsonl"
        stop = Timer(seconds, handler.interrupt)
        stop.daemon = True
        stop.start()
        spool = Spool(path, rows, source.id)
        try:
            handler.fetch(None, spool)
        finally:
            stop.cancel()
            spool.close()
        return path.read_bytes()
