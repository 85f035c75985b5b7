"""Gives a target that applies changes the key of its source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from executors.change_log.copies import copies_on
from executors.errors import of_node
from executors.model import RunJob
from ir.load_modes import load_mode
from ir.nodes import Source
from ir.pipeline import Path


@dataclass(frozen=True, slots=True)
class SourceKey:
    """The columns of a followed table, and those of its key."""

    columns: Sequence[str]
    key: Sequence[str]


_FINDERS = {
    "postgres_cdc": "executors.postgres_cdc.keys:find_key",
    "mysql_cdc": "executors.mysql_cdc.keys:find_key",
}
"""By connector, named by dotted path so that only the one in use is loaded."""


def with_source_key(job: RunJob, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the paths to a target with its key: that of the document, else the key of the followed table. Paths to
    other targets are unchanged. Raises Terminal as the connector and `Copies.require`."""
    target = paths[0].target
    if not load_mode(target.load_mode).follows_stream or target.upsert_key:
        return paths
    path = paths[0]
    with of_node(path.source.id):
        found = _finder(path.source)(job, path.source)
    key = copies_on(path, found.columns).require(found.key, path.source.id)
    keyed = target.model_copy(update={"upsert_key": list(key)})
    return (Path(path.source, path.transforms, path.validates, keyed, path.references),)


def _finder(source: Source) -> Callable[[RunJob, Source], SourceKey]:
    module, _, name = _FINDERS[source.connector].partition(":")
    found: Callable[[RunJob, Source], SourceKey] = getattr(import_module(module), name)
    return found
