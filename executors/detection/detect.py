"""Detects the format of a file and the types of its columns from its first bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from executors.detection import problems
from executors.detection.columns import (
    Column,
    as_text,
    describe,
    find_keys,
    find_null_words,
    one_array,
    profile,
    profile_typed,
)
from executors.detection.dialect import dialect_of
from executors.detection.layout import layout_of
from executors.detection.model import LOOKED_AT_BYTES, NOTHING_GIVEN, SHOWN_ROWS, Detection, GivenSettings, Problem
from executors.detection.names import target_names
from executors.detection.reading import Sheet, read_head_sheet, read_sheet, whole_part
from executors.detection.text import Text, read_text, refuse_compressed, refuse_unreadable
from executors.detection.workbook import find_table
from executors.detection.xml import find_records, is_xml, whole_elements
from executors.errors import InvalidContent, Terminal
from executors.formats import FORMATS
from executors.formats.compression import expanded_head
from executors.grammar import canonical_text
from ir.formats import FORMATS as FORMATS_OF_DOCUMENTS
from ir.formats import Csv, FixedWidth, Format, Json, Jsonl, Tsv, Xlsx
from ir.pointers import ROOT

_TYPED = {b"PAR1": "parquet", b"Obj\x01": "avro", b"ORC": "orc"}
"""Formats with types, by the first bytes of their files. Letters may also begin a text."""
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_DELIMITED: dict[str, type[Csv] | type[Tsv]] = {"csv": Csv, "tsv": Tsv}
_ARRAY_START = re.compile(rb"\s*\[\s*(?:[{\]]|$)")
_OBJECT_LINE = re.compile(rb"\s*\{[^\r\n]*\}\s*(?:[\r\n]|$)")
_OBJECT_START = re.compile(rb"\s*\{\s*(?:[\"}]|$)")


def detect(head: bytes, name: str, *, is_whole: bool, given: GivenSettings = NOTHING_GIVEN) -> Detection:
    """Detect settings and types from the first bytes of a file. Given settings are used as they are.

    Raises Failure for a file that no format reads, and for given settings that cannot be used.
    """
    _refuse_unusable(given)
    stored = head
    refuse_unreadable(head, name)
    head, is_whole = expanded_head(stored, LOOKED_AT_BYTES, name, is_whole=is_whole)
    if given.type == "xml" or (given.type is None and is_xml(head)):
        return _detect_xml(head, name, given, is_whole)
    if head is not stored:
        refuse_unreadable(head, name)
        refuse_compressed(head, name)
    if given.type == "xlsx" or (given.type is None and head.startswith(b"PK\x03\x04")):
        return _detect_workbook(head, name, given.sheet, is_whole)
    if kind := _typed_kind(head, given):
        return _detect_typed(head, name, kind, is_whole)
    text = read_text(head, name, given, is_whole=is_whole)
    kind = given.type or _kind_of(text.data, name)
    if kind == "fixed_width" or (given.type is None and given.delimiter is None and kind == "csv"):
        shown = text.data.decode(errors="replace")
        if fmt := layout_of(shown, is_whole=is_whole, is_given=kind == "fixed_width"):
            return _detect_fixed(text, name, fmt, is_whole)
        if kind == "fixed_width":
            raise _unusable(f"The lines of {name} have different lengths, so their columns have no fixed positions.")
    if kind in _DELIMITED:
        return _detect_delimited(text, name, given, kind if given.type else "", is_whole)
    return _detect_json(head, name, kind, is_whole)


def _refuse_unusable(given: GivenSettings) -> None:
    """Raises Terminal for settings that a document cannot have."""
    if given.type is not None and given.type not in FORMATS:
        raise _unusable(f"Flow cannot read files of the type {given.type!r}.")
    texts = {"delimiter": given.delimiter, "quote": given.quote, "encoding": given.encoding}
    settings = {name: value for name, value in texts.items() if value is not None}
    try:
        kind = "tsv" if given.type == "tsv" else "csv"
        faults = list(_DELIMITED[kind].read({"type": kind, **settings}).check(ROOT))
    except ValidationError as error:
        raise _unusable("Delimiter and quote are one character each.") from error
    if faults:
        raise _unusable(faults[0].message)
    if not all(sign.isascii() and sign != "\0" for sign in (given.delimiter or ",", given.quote or ",")):
        raise _unusable("Delimiter and quote are ASCII characters.")


def _unusable(message: str) -> Terminal:
    return Terminal("detection.setting_unusable", message, hint="Correct the setting, or leave it to be detected.")


def _kind_of(data: bytes, name: str) -> str:
    """Return the text format by content, because the file name may be wrong."""
    if _ARRAY_START.match(data):
        return "json"
    if _OBJECT_LINE.match(data):
        return "jsonl"
    if _OBJECT_START.match(data):
        raise InvalidContent(
            "detection.one_object",
            f"{name} is one JSON object over several lines.",
            hint="Flow reads an array of objects, or one object a line. Write the rows in one of these forms.",
        )
    return "csv"


def _detect_delimited(text: Text, name: str, given: GivenSettings, kind: str, is_whole: bool) -> Detection:
    dialect = dialect_of(text.data.decode(errors="replace"), given, is_whole=is_whole)
    kind = kind or ("tsv" if dialect.delimiter == "\t" else "csv")
    settings = {
        "type": kind,
        "delimiter": dialect.delimiter,
        "quote": dialect.quote,
        "encoding": text.encoding,
        "header": dialect.header,
    }
    if given.null_values is not None:
        settings["nullValues"] = list(given.null_values)
    sheet = _read_delimited(text, name, settings, is_whole)
    columns = profile(sheet.table, sheet.fields)
    found = [*text.problems, *dialect.problems]
    if given.null_values is None and (words := find_null_words(columns)):
        settings["nullValues"] = words
        sheet, before = _read_delimited(text, name, settings, is_whole), columns
        columns = profile(sheet.table, sheet.fields)
        found += problems.of_nulls(before, columns, words)
    fmt = _DELIMITED[kind].read(settings)
    return _detection(fmt, sheet, columns, found, is_whole, ends_with_delimiter=dialect.ends_with_delimiter)


def _detect_fixed(text: Text, name: str, fmt: FixedWidth, is_whole: bool) -> Detection:
    sheet = read_head_sheet(text.data, name, fmt, is_whole)
    columns = profile(sheet.table, sheet.fields)
    found = [*text.problems]
    if words := find_null_words(columns):
        fmt, before = fmt.model_copy(update={"null_values": words}), columns
        sheet = read_head_sheet(text.data, name, fmt, is_whole)
        columns = profile(sheet.table, sheet.fields)
        found += problems.of_nulls(before, columns, words)
    fmt = fmt.model_copy(update={"encoding": text.encoding})
    return _detection(fmt, sheet, columns, found, is_whole)


def _read_delimited(text: Text, name: str, settings: dict[str, Any], is_whole: bool) -> Sheet:
    # The text is in UTF-8 by now.
    return read_head_sheet(
        text.data, name, _DELIMITED[settings["type"]].read({**settings, "encoding": "utf-8"}), is_whole
    )


def _detect_json(head: bytes, name: str, kind: str, is_whole: bool) -> Detection:
    """Detect JSON in the bytes that a run reads: UTF-8, or the run refuses them."""
    fmt: Format = Json.read({"type": "json"}) if kind == "json" else Jsonl.read({"type": "jsonl"})
    sheet = read_head_sheet(head, name, fmt, is_whole)
    return _detection(fmt, sheet, profile(sheet.table, sheet.fields), (), is_whole)


def _detect_workbook(head: bytes, name: str, sheet_name: str | None, is_whole: bool) -> Detection:
    if not is_whole:
        return _not_read(Xlsx.read({"type": "xlsx", **({"sheet": sheet_name} if sheet_name else {})}))
    found = find_table(head, name, sheet_name)
    sheet = read_sheet(head, name, found.format)
    columns = [as_text(one) if one.name in found.texts else one for one in profile(sheet.table, sheet.fields)]
    return _detection(found.format, sheet, columns, found.problems, is_whole)


def _detect_xml(head: bytes, name: str, given: GivenSettings, is_whole: bool) -> Detection:
    """Detect the records in the bytes that a run reads: XML names its encoding itself."""
    fmt = find_records(head, name, given)
    sheet = read_sheet(head if is_whole else whole_elements(head, name, fmt), name, fmt)
    return _detection(fmt, sheet, profile(sheet.table, sheet.fields), (), is_whole)


def _not_read(fmt: Format) -> Detection:
    message = f"This {fmt.label} file describes its columns in a part that was not read."
    problem = Problem("columns.not_read", message, "Nothing needs to be set: runs take them from the file.")
    return Detection(fmt, (), (), (problem,), (), 0, False)


def _typed_kind(head: bytes, given: GivenSettings) -> str | None:
    if given.type is not None:
        return given.type if given.type in _TYPED.values() else None
    is_binary = _BINARY.search(head[:64]) is not None
    return next((kind for start, kind in _TYPED.items() if head.startswith(start) and is_binary), None)


def _detect_typed(head: bytes, name: str, kind: str, is_whole: bool) -> Detection:
    """Detect the columns of a file whose format has types, if the head holds their description."""
    fmt = FORMATS_OF_DOCUMENTS[kind].read({"type": kind})
    readable = head if is_whole else whole_part(head, name, kind)
    if readable is None:
        return _not_read(fmt)
    sheet = read_sheet(readable, name, fmt)
    return _detection(fmt, sheet, profile_typed(sheet.table, sheet.fields), (), is_whole)


def _detection(
    fmt: Format,
    sheet: Sheet,
    columns: Sequence[Column],
    found: Sequence[Problem],
    is_whole: bool,
    *,
    ends_with_delimiter: bool = False,
) -> Detection:
    names = target_names([field.name for field in sheet.fields])
    return Detection(
        format=fmt,
        columns=tuple(describe(column, name) for column, name in zip(columns, names, strict=True)),
        keys=tuple(find_keys(columns)),
        problems=(
            *found,
            *problems.without_rows(sheet),
            *problems.of_records(sheet, ends_with_delimiter=ends_with_delimiter),
            *problems.of_columns(columns),
        ),
        rows=_first_rows(sheet.table),
        rows_read=sheet.table.num_rows,
        is_whole=is_whole,
    )


def _first_rows(table: pa.Table) -> tuple[tuple[str | None, ...], ...]:
    first = table.slice(0, SHOWN_ROWS)
    texts = [canonical_text(one_array(column)).to_pylist() for column in first.columns]
    return tuple(zip(*texts, strict=True))
