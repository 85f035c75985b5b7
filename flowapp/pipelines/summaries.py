"""Values of a document that are also stored in columns: what lists show, and where rejected rows are stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ir.connectors import config_of
from ir.connectors.base import SourceConfig
from ir.nodes import Source
from ir.pipeline import Pipeline as Document


def summary_of(document: Document) -> dict[str, Any]:
    """Return the columns of a pipeline that repeat its document: name, tags, source, target, load mode and backfill."""
    targets = document.targets()
    return {
        "name": document.metadata.name or "",
        "tags": join_tags(document.metadata.tags),
        "source": ", ".join(_location_of(node) for node in document.nodes if isinstance(node, Source)),
        "target": ", ".join(f"{target.schema_}.{target.table}" for target in targets),
        "load_mode": ", ".join(dict.fromkeys(target.load_mode for target in targets)),
        "backfill": None if document.backfill is None else document.backfill.to_document(),
    }


def quarantines_of(document: Document) -> list[list[str]]:
    """Return connection and table of each quarantine. Several validate nodes may share one."""
    return [
        list(table) for table in dict.fromkeys((known.connection, known.table) for known in find_quarantines(document))
    ]


class QuarantineTable(NamedTuple):
    """A table of rejected rows, and the validate node that names it."""

    node: str
    connection: str
    table: str


def find_quarantines(document: Document) -> Iterator[QuarantineTable]:
    """Yield the tables of rejected rows, one for each target that a validate node leads to."""
    for target in document.targets():
        for validate in document.path_to(target).validates:
            quarantine = validate.quarantine
            if quarantine and quarantine.enabled and quarantine.table:
                yield QuarantineTable(validate.id, quarantine.connection or target.connection, quarantine.table)


def join_tags(tags: Iterable[str]) -> str:
    """Return tags in the form of `Pipeline.tags`: one line per tag."""
    lines = [line for tag in tags if (line := " ".join(tag.split()))]
    return "\n" + "\n".join(dict.fromkeys(lines)) + "\n" if lines else ""


def _location_of(source: Source) -> str:
    return config_of(source, SourceConfig).location or source.connector
