"""Where rejected rows are kept: quarantine tables, and the connections by which they are reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from executors.postgres.names import TableName
from flowapp.accounts.models import Workspace
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline, Remains
from flowapp.pipelines.selectors import get_version, list_pipelines
from flowapp.runs.models import Run
from ir.pipeline import Pipeline as Document


@dataclass(frozen=True, slots=True)
class Place:
    """The entries of one pipeline in one quarantine table."""

    pipeline: str
    connection: str
    table: TableName

    @property
    def key(self) -> str:
        return f"{self.pipeline}|{self.connection}|{self.table}"


def places_of(workspace: Workspace, pipeline: Pipeline | None, run: Run | None) -> list[Place]:
    """All places in question, without repeats."""
    documents = _documents(workspace, pipeline, run)
    return list(dict.fromkeys(place for document in documents for place in _places(document)))


def places_left(workspace: Workspace) -> list[Place]:
    """Where pipelines that were deleted have left rejected rows."""
    return [
        Place(remains.ident, remains.connection, TableName.parse(table))
        for remains in Remains.objects.filter(workspace=workspace).order_by("pk")
        for table in remains.quarantines
    ]


def _documents(workspace: Workspace, pipeline: Pipeline | None, run: Run | None) -> Iterator[Document]:
    """The documents that say where rows were put: of a run its own version, else the newest ones."""
    if run is not None:
        yield read_document(get_version(run.pipeline, run.version.number).document)
        return
    for one in [pipeline] if pipeline else list_pipelines(workspace):
        if one.latest_number:
            yield read_document(get_version(one).document)


def _places(document: Document) -> Iterable[Place]:
    """Several validate nodes may share one table."""
    for target in document.targets():
        for validate in document.path_to(target).validates:
            kept = validate.quarantine
            if kept and kept.enabled and kept.table:
                yield Place(document.id, target.connection, TableName.parse(kept.table))
