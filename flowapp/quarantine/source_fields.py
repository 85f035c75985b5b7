"""Find the source fields of the field that a rule names. A rejected row is stored in the form of the source, and
transforms may have renamed or made the field."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from uuid import UUID

from executors.target_database import Cut, Entry
from flowapp.accounts.models import Workspace
from flowapp.pipelines.documents import read_document
from flowapp.runs.models import Run
from ir.errors import FlowError
from ir.lineage import sources_of
from ir.pipeline import Pipeline


class SourceFields:
    """Finds source fields from the documents of the runs that rejected the rows."""

    def __init__(self, workspace: Workspace, entries: Iterable[Entry]) -> None:
        runs = {UUID(str(entry["runId"])) for entry in entries}
        found = Run.objects.filter(workspace=workspace, pk__in=runs).select_related("version")
        texts = {str(run.pk): run.document for run in found}
        read = {text: _read(text) for text in texts.values()}
        self._documents = {run: read[text] for run, text in texts.items()}

    def failing(self, entry: Entry) -> frozenset[str]:
        """Return the fields of the row from which the entry's field is made, or the field itself if they are
        unknown."""
        field, row = entry["field"], entry["row"]
        if field is None:
            return frozenset()
        made_of = self.made_of(entry)
        return frozenset(name for name in made_of if isinstance(row, dict) and name in row) or frozenset((field,))

    def made_of(self, entry: Entry) -> tuple[str, ...]:
        """Return the source fields from which the entry's field is made; empty if they are unknown."""
        field = entry["field"]
        return self._sources(entry, field) if field is not None and entry["rowFrom"] == "source" else ()

    def _sources(self, entry: Entry, field: str) -> tuple[str, ...]:
        document = self._documents.get(str(entry["runId"]))
        targets = document.targets() if document else ()
        target = next((target for target in targets if target.id == entry["targetNode"]), None)
        if document is None or target is None:
            return ()
        paths = document.paths_to(target)
        path = next((path for path in paths if path.source.id == entry.get("sourceNode")), paths[0])
        return sources_of(path, entry["nodeId"], field)


def with_origins(workspace: Workspace, entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries with `origins`: if the row lacks the failing field, the displayed fields from which it is
    made, with their values."""
    entries = list(entries)
    about = SourceFields(workspace, [entry for entry in entries if _lacks_field(entry)])
    return [{**entry, "origins": _origins(entry, about) if _lacks_field(entry) else ()} for entry in entries]


def _lacks_field(entry: Entry) -> bool:
    return entry["field"] is not None and entry["preview"] is not None and entry["preview"].failing is None


def _origins(entry: Entry, about: SourceFields) -> tuple[tuple[Cut, Cut], ...]:
    made_of = about.made_of(entry)
    return tuple((name, value) for name, value in entry["preview"].fields if name.text in made_of and not name.is_cut)


def _read(text: str) -> Pipeline | None:
    with suppress(FlowError):  # a document that this release cannot read
        return read_document(text)
    return None
