"""Gives a target that applies changes the key of its source."""

from __future__ import annotations

from executors.change_log.copies import copies_on
from executors.errors import of_node
from executors.model import RunJob
from executors.sources import log_source_of
from ir.load_modes import load_mode
from ir.pipeline import Path


def with_source_key(job: RunJob, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the paths to a target with its key: that of the document, else the key of the followed table. Paths to
    other targets are unchanged. Raises Terminal as the connector and `Copies.require`."""
    target = paths[0].target
    if not load_mode(target.load_mode).follows_stream or target.upsert_key:
        return paths
    path = paths[0]
    with of_node(path.source.id):
        found = log_source_of(path.source).find_key(job, path.source)
    key = copies_on(path, found.columns).require(found.key, path.source.id)
    keyed = target.model_copy(update={"upsert_key": list(key)})
    return (Path(path.source, path.transforms, path.validates, keyed, path.references),)
