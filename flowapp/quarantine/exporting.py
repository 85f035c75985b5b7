"""Rejected rows as a file: streamed from the databases that keep them, so that any number can be had, and noted."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

from executors.postgres.quarantine_pages import read_all
from flowapp.accounts.models import Workspace
from flowapp.quarantine.places import places_of
from flowapp.quarantine.records import note_decision
from flowapp.quarantine.selectors import Entry, Wanted, narrow, owner_of, reach
from flowapp.runs.holds import Decider
from flowapp.runs.models import Run

FIELDS = ("pipelineId", "runId", "rowId", "nodeId", "ruleId", "field", "message", "severity", "disposition", "status",
          "sourceFile", "sourceRecord", "createdAt", "fixedBy", "reason")  # fmt: skip
"""What is told of an entry beside its row."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet compute a cell instead of showing it."""
_AT_ONCE = 500


def export_response(
    request: HttpRequest, workspace: Workspace, wanted: Wanted, kind: str, by: Decider
) -> StreamingHttpResponse:
    """A download of all that is wanted. Raises FlowError, and Failure where a database does not answer at once."""
    write, content_type = FORMATS[kind]
    chunks = write(list_all(workspace, wanted))
    first = next(chunks, "")
    note_decision(workspace, wanted.pipeline or (wanted.run and wanted.run.pipeline), "export", by, rows=-1,
                  details={"wanted": wanted.words(), "format": kind})  # fmt: skip
    whole = _with_first(first, chunks)
    content = _in_thread(whole) if isinstance(request, ASGIRequest) else whole
    response = StreamingHttpResponse(content, content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="rejected-rows.{kind}"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def list_all(workspace: Workspace, wanted: Wanted) -> Iterator[Entry]:
    """Every entry, the oldest of a table first."""
    narrowed = narrow(workspace, wanted)
    places = places_of(workspace, wanted.pipeline, wanted.run)
    known = _known_runs(workspace, wanted)
    for place, reached in reach(workspace, places):
        for entry in read_all(reached, owner_of(workspace, place), place.table, narrowed):
            if entry["tenant"] is not None or entry["runId"] in known:
                yield entry


def _known_runs(workspace: Workspace, wanted: Wanted) -> frozenset[str]:
    """By which entries are told whose an older release has written."""
    runs = Run.objects.filter(workspace=workspace)
    if wanted.pipeline is not None:
        runs = runs.filter(pipeline=wanted.pipeline)
    return frozenset(str(key) for key in runs.values_list("pk", flat=True))


def as_csv(entries: Iterable[Entry]) -> Iterator[str]:
    """One line for each entry; the row and what was mended of it are JSON in a cell each."""
    yield _line([*FIELDS, "row", "fixedRow"])
    for entry in entries:
        values = [_plain(entry[name]) for name in FIELDS]
        rows = [json.dumps(entry[name], ensure_ascii=False) if entry[name] else "" for name in ("row", "fixedRow")]
        yield _line([*values, *rows])


def _line(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow([neutral(cell) for cell in cells])
    return out.getvalue()


def neutral(cell: str) -> str:
    """The cell so that a spreadsheet shows it as text."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def as_json(entries: Iterable[Entry]) -> Iterator[str]:
    """One array of objects."""
    before = "[\n"
    for entry in entries:
        shown = {name: entry[name] for name in (*FIELDS, "row", "fixedRow")}
        yield before + json.dumps(shown, ensure_ascii=False, default=_plain)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, datetime) else str(value)


FORMATS: dict[str, tuple[Callable[[Iterable[Entry]], Iterator[str]], str]] = {
    "csv": (as_csv, "text/csv; charset=utf-8"),
    "json": (as_json, "application/json"),
}


def _with_first(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


async def _in_thread(chunks: Iterator[str]) -> AsyncIterator[str]:
    """Under ASGI a plain iterator would be read to its end before a byte is sent."""

    def some() -> str:
        return "".join(chunk for _, chunk in zip(range(_AT_ONCE), chunks, strict=False))

    while text := await sync_to_async(some, thread_sensitive=False)():
        yield text
