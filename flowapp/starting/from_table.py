"""Propose a pipeline from a table of a connection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from executors.api import DetectedColumn
from executors.target_database import FILLED, TableName, inspect_tables
from flowapp.accounts.models import Workspace
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.pipelines.checking import check_text
from flowapp.starting.answers import Answers, Choice, Setting, make_setting
from flowapp.starting.column_pages import ColumnPage, page_of_columns
from flowapp.starting.columns import Column, ColumnRow, choose_columns, given_keys, table_rows
from flowapp.starting.documents import REJECT, Load, Node, document_text, field_of, make_document, table_source
from flowapp.starting.load_form import LoadForm, make_load_form
from flowapp.starting.names import title
from flowapp.starting.place import choose_place
from flowapp.web.document_form import field_labels
from ir.destinations import Destination
from ir.diagnostics import Diagnostic
from ir.errors import FlowError
from ir.load_modes import LOAD_MODES

SECONDS = 10
_ORDERED = ("integer", "bigint", "float", "decimal", "date", "timestamp", "timestamptz")
NO_CHOICE = Choice("", "– None –")


@dataclass(slots=True)
class TableStart:
    """The columns of the source and the table to load, for the page."""

    connection: str
    source: TableName
    columns: list[ColumnRow]
    load: LoadForm
    order: list[Setting]
    document: Node
    others: list[Diagnostic] = field(default_factory=list)
    page: ColumnPage | None = None

    @property
    def text(self) -> str:
        return document_text(self.document)

    @property
    def is_valid(self) -> bool:
        settings = [d for setting in (*self.load.settings(), *self.order) for d in setting.diagnostics]
        columns = [d for row in self.columns for d in row.diagnostics]
        return not any(d.severity == "error" for d in (*settings, *columns, *self.others))


def start_from_table(workspace: Workspace, connection: str, source: TableName, answers: Answers) -> TableStart:
    """Propose a pipeline that reads the table. Raises FlowError if the table does not exist."""
    found = _inspect(workspace, connection, source)
    # Sources never read the columns that Flow adds to loaded tables.
    read = [column for column in found.columns if column.name not in FILLED]
    columns = choose_columns(answers, [_described(column.name, str(column.type)) for column in read])
    place = choose_place(workspace, answers, f"{source.table}_copy")
    names = {column.name: column.target_name for column in columns if column.is_included}
    chosen = given_keys(answers, columns)
    keys = _key_of(found, names) if chosen is None else chosen
    mode = answers.text("mode", "upsert" if keys else "truncate")
    order = list(_order_settings(answers, mode, columns))
    ordered = {setting.name: setting.value for setting in order}
    load = Load(
        mode=mode,
        key=tuple(names[key] for key in keys if key in names),
        on_misfit=answers.text("onMisfit", REJECT),
        watermark=ordered.get("watermark", ""),
        order_by=ordered.get("orderBy", ""),
        from_table=True,
    )
    form = make_load_form(workspace, answers, place, load, title(source.table))
    document = make_document(form.slug, form.name.value, table_source(connection, source), columns, place, load)
    start = TableStart(connection, source, table_rows(answers, columns, keys), form, order, document)
    _show_diagnostics(start, workspace, columns)
    start.page = page_of_columns(answers, start.columns)
    return start


def _inspect(workspace: Workspace, connection: str, source: TableName) -> Destination:
    resolved = resolve(get_connection(workspace, connection))
    for _, found in inspect_tables(resolved, [source], timeout=SECONDS):
        if found is not None:
            return found
    raise FlowError("table.unknown", f"There is no table {source} in {connection}.", hint="Choose one of the list.")


def _described(name: str, kind: str) -> DetectedColumn:
    """Return a column with the type that the database reports."""
    return DetectedColumn(name, name, kind, (), None, None, 0.0, 0, None, None, (), "")


def _key_of(found: Destination, names: dict[str, str]) -> list[str]:
    keys = sorted((sorted(key) for key in found.unique_keys), key=len)
    return next((key for key in keys if set(key) <= names.keys() and len(key) < len(names)), [])


def _order_settings(answers: Answers, mode: str, columns: Sequence[Column]) -> list[Setting]:
    """Return the fields for the columns that a load mode uses for order."""
    ordered = [c.target_name for c in columns if c.is_included and c.kind in _ORDERED]
    choices = (NO_CHOICE, *(Choice(name, name) for name in ordered))
    if LOAD_MODES.get(mode) is None:
        return []
    if LOAD_MODES[mode].keeps_watermark:
        value = answers.text("watermark", "")
        return [make_setting(answers, "watermark", "Watermark column", value, choices, help=_WATERMARK)]
    if LOAD_MODES[mode].needs_key:
        value = answers.text("orderBy", "")
        return [make_setting(answers, "orderBy", "Newest row by", value, choices, help=_ORDER)]
    return []


_WATERMARK = "Only rows above its highest loaded value are read. Its values must grow."
_ORDER = "Of several rows with the same key, the one with the highest value is loaded."


def _show_diagnostics(start: TableStart, workspace: Workspace, columns: Sequence[Column]) -> None:
    fields = {one.name: one.diagnostics for one in (*start.load.settings(), *start.order)}
    fields |= {row.column.prefix: row.diagnostics for row in start.columns}
    for found in field_labels().in_diagnostics(check_text(workspace, start.text).diagnostics, start.document):
        fields.get(field_of(start.document, found.path, columns), start.others).append(found)
