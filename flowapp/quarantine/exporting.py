"""Export rejected rows as a file, streamed from their databases and recorded in the audit log."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import chain, islice
from threading import Lock
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import HttpRequest, StreamingHttpResponse

from executors.target_database import ROW_FLAGS, Entry
from flowapp.accounts.models import Workspace
from flowapp.batches import in_batches
from flowapp.quarantine.records import note_decision, note_sent
from flowapp.quarantine.reject_tables import by_table, reject_tables_of
from flowapp.quarantine.selectors import EntryFilter, entry_query_of, owners_of, reach
from flowapp.quarantine.values import text_of
from flowapp.runs.holds import Decider

Chunk = TypeVar("Chunk")
FIELDS = (
    "pipelineId",
    "runId",
    "rowId",
    "nodeId",
    "ruleId",
    "field",
    "message",
    "severity",
    "disposition",
    "status",
    "sourceFile",
    "sourceRecord",
    "sourceNode",
    "createdAt",
    "fixedBy",
    "reason",
    "supersededBy",
)
"""The columns of an entry besides its row."""
_SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20"
"""Characters with which a spreadsheet recognizes a formula, with their full-width forms."""
_SIGN = re.compile(f"[{re.escape(_SIGNS)}]")
_BREAKS = "\t\r\n"
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""Characters that many spreadsheets skip before such a character."""
_SEPARATORS = (";", "|")
"""A spreadsheet with one of these separators, or a tab, ignores the commas and quotes of the file and may start a new
cell within a cell."""
_BEGINS_IN_JSON = re.compile(rf"([;|]\s*)({_SIGN.pattern})")
_AT_ONCE = 500
_LOOKED_AT = 1000
"""The number of entries of each table from which the fields are collected. Other fields are only in the JSON of the
row."""
_OF_FIELDS = ("id", "runId", "targetNode", "row", "fixedRow")


def export_response(
    request: HttpRequest, workspace: Workspace, filters: EntryFilter, kind: str, by: Decider
) -> StreamingHttpResponse:
    """Return a download of all matching rows. Raises FlowError, and Failure if a database does not respond
    immediately."""
    write, content_type = FORMATS[kind]
    entries = list_all(workspace, filters)
    # Users would mistake a file with only a header for an empty result.
    first = list(islice(entries, 1))
    fields = fields_of(workspace, filters)
    sending = Sending(workspace, filters, kind, by)
    chunks = sending.note(write(sending.count(chain(first, entries)), fields))
    content = in_thread(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(content, content_type=content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="rejected-rows.{kind}"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


class Sending:
    """The audit record of an export: created before the first row is sent, its row count added after the last."""

    def __init__(self, workspace: Workspace, filters: EntryFilter, kind: str, by: Decider) -> None:
        pipeline = filters.of_pipeline
        details = {"filters": filters.words(), "format": kind}
        self._decision = note_decision(workspace, pipeline, "export", by, rows=-1, details=details)
        self._rows = 0

    def count(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        for entry in entries:
            self._rows += 1
            yield entry

    def note(self, chunks: Iterable[Chunk]) -> Generator[Chunk, None, None]:
        """Yield the chunks. If the generator is closed before its end, the record says that the export is
        incomplete."""
        is_whole = False
        try:
            yield from chunks
            is_whole = True
        finally:
            note_sent(self._decision, self._rows, is_whole=is_whole)


def list_all(workspace: Workspace, filters: EntryFilter) -> Iterator[Entry]:
    """Yield every entry, oldest first within each table."""
    entry_query = entry_query_of(workspace, filters)
    for shared, rejects in reach(workspace, by_table(reject_tables_of(workspace, filters.pipeline, filters.run))):
        for some in in_batches(rejects.export(owners_of(workspace, shared), shared.table, entry_query)):
            yield from some


def fields_of(workspace: Workspace, filters: EntryFilter) -> list[str]:
    """Return the fields of the newest rows, in the order of their source if the runs recorded it."""
    # A search may take as long as the export; which fields there are must not.
    entry_query, found = entry_query_of(workspace, replace(filters, search=None)), dict[str, None]()
    for shared, rejects in reach(workspace, by_table(reject_tables_of(workspace, filters.pipeline, filters.run))):
        page = rejects.page(owners_of(workspace, shared), shared.table, entry_query, None, _LOOKED_AT, _OF_FIELDS)
        for node in sorted({entry["targetNode"] for entry in page.entries}):
            found |= dict.fromkeys(rejects.source_fields({entry["runId"] for entry in page.entries}, [node]))
        for entry in page.entries:
            found |= dict.fromkeys(_row_now(entry))
    return [name for name in found if name not in ROW_FLAGS]


def as_csv(entries: Iterable[Entry], fields: Sequence[str]) -> Iterator[str]:
    """Yield one CSV line per entry, with one cell per field of the current row. The whole row and its fixes are JSON
    cells."""
    yield _line([*FIELDS, *(f"row.{name}" for name in fields), "row", "fixedRow"])
    for entry in entries:
        values = [_plain(entry[name]) for name in FIELDS]
        now = _row_now(entry)
        cells = [text_of(now.get(name)) or "" for name in fields]
        rows = [_json_cell(entry[name]) if entry[name] else "" for name in ("row", "fixedRow")]
        yield _line([*values, *cells, *rows])


def _row_now(entry: Entry) -> dict[str, Any]:
    now = entry["fixedRow"] or entry["row"]
    return now if isinstance(now, dict) else {}


def _line(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow([neutral(cell) for cell in cells])
    return out.getvalue()


def neutral(cell: str) -> str:
    """Return the cell in a form that spreadsheets show as text, whatever separator they use."""
    parts, done = [], 0
    for sign in _SIGN.finditer(cell):
        before = cell[done : sign.start()]
        parts += [before, "'" if _begins_within(before) else "", sign[0]]
        done = sign.end()
    is_first = cell.startswith(tuple(_BREAKS)) or cell.lstrip(_BLANKS + "|").startswith(tuple(_SIGNS))
    return "".join(["'" if is_first else "", *parts, cell[done:]])


def _begins_within(before: str) -> bool:
    """Return whether a new cell may begin after `before`, the text between two formula characters."""
    other = before.rstrip(_BLANKS + '"')
    return other.endswith(_SEPARATORS) or any(sign in before[len(other) :] for sign in _BREAKS)


def _json_cell(row: Any) -> str:
    """Return the row as JSON without text that a spreadsheet would take for a formula."""
    text = json.dumps(row, ensure_ascii=False)
    return _BEGINS_IN_JSON.sub(lambda found: f"{found[1]}\\u{ord(found[2]):04x}", text)


def as_json(entries: Iterable[Entry], fields: Sequence[str]) -> Iterator[str]:
    """Yield one JSON array of objects, each with its whole row."""
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


FORMATS: dict[str, tuple[Callable[[Iterable[Entry], Sequence[str]], Iterator[str]], str]] = {
    "csv": (as_csv, "text/csv; charset=utf-8"),
    "json": (as_json, "application/json"),
}


async def in_thread(chunks: Generator[str, None, None]) -> AsyncIterator[str]:
    """Iterate in a thread: under ASGI, Django would read a plain iterator to its end before sending a byte."""
    # A browser that disconnects ends the wait for a thread, not the thread.
    reading = Lock()

    def some() -> str:
        with reading, _connections_given_back():
            return "".join(chunk for _, chunk in zip(range(_AT_ONCE), chunks, strict=False))

    def end() -> None:
        with reading, _connections_given_back():
            chunks.close()

    try:
        while text := await sync_to_async(some, thread_sensitive=False)():
            yield text
    finally:
        await sync_to_async(end, thread_sensitive=False)()


@contextmanager
def _connections_given_back() -> Iterator[None]:
    """Return pooled connections: no request ends in these threads, so Django would never release them."""
    try:
        yield
    finally:
        connections.close_all()
