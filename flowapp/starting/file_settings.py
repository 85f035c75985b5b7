"""The settings of a file: the user's choices as detection accepts them, and the fields of the form."""

from __future__ import annotations

from collections.abc import Iterator

from executors.api import GivenSettings
from flowapp.starting.answers import Answers, Choice, Setting, make_setting
from ir.annotations import tag_of
from ir.formats import ENCODINGS, READABLE, Delimited, Format, Xlsx, Xml

TYPES = tuple(Choice(tag_of(kind, "type"), kind.label) for kind in READABLE)
DELIMITERS = (
    Choice(",", "Comma ,"),
    Choice(";", "Semicolon ;"),
    Choice("\t", "Tab"),
    Choice("|", "Vertical bar |"),
    Choice(":", "Colon :"),
    Choice(" ", "Space"),
)
QUOTES = (Choice('"', '" double'), Choice("'", "' single"))
HEADERS = (Choice("true", "Column names"), Choice("false", "A row"))
COMMON_ENCODINGS = {
    "utf-8": "UTF-8",
    "cp1252": "Windows-1252 (Western Europe)",
    "cp1250": "Windows-1250 (Central Europe)",
    "iso8859-1": "ISO 8859-1 (Latin 1)",
    "iso8859-15": "ISO 8859-15 (Latin 9)",
    "utf-16": "UTF-16",
    "cp850": "DOS 850",
}
EVERY_ENCODING = (
    *(Choice(name, label) for name, label in COMMON_ENCODINGS.items()),
    *(Choice(name, name) for name in sorted(ENCODINGS) if name not in COMMON_ENCODINGS),
)


def given_settings(answers: Answers) -> GivenSettings:
    """Return the settings that the user chose, which detection does not change."""
    header, nulls, repeated = (answers.given(name) for name in ("header", "nullValues", "repeated"))
    return GivenSettings(
        type=answers.given("type"),
        delimiter=answers.given("delimiter"),
        quote=answers.given("quote"),
        encoding=answers.given("encoding"),
        header=None if header is None else header == "true",
        null_values=None if nulls is None else split_words(nulls),
        sheet=(answers.given("sheet") or "").strip() or None,
        record_path=(answers.given("recordPath") or "").strip() or None,
        repeated=None if repeated is None else split_words(repeated),
    )


def split_words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def list_settings(answers: Answers, fmt: Format | None) -> Iterator[Setting]:
    """Yield the fields of a format; without a detected format, those of delimited text with the user's choices."""
    kind = fmt.type if fmt else answers.text("type", "xlsx" if answers.given("sheet") else "csv")
    yield make_setting(answers, "type", "Format", kind, TYPES)
    if kind == "xlsx":
        sheet = fmt.sheet or "" if isinstance(fmt, Xlsx) else answers.given("sheet") or ""
        yield make_setting(answers, "sheet", "Sheet", sheet, help="Empty for the first one with cells.")
        return
    if kind == "xml":
        path = fmt.record_path if isinstance(fmt, Xml) else answers.given("recordPath") or ""
        repeated = ", ".join(fmt.repeated) if isinstance(fmt, Xml) else answers.given("repeated") or ""
        yield make_setting(answers, "recordPath", "Record path", path, help="From the root: orders/order")
        help = "Read as arrays. Separated by commas: line, note"
        yield make_setting(answers, "repeated", "Repeated elements", repeated, help=help)
        return
    if fmt is not None and not isinstance(fmt, Delimited):
        return
    values = _values(fmt) if isinstance(fmt, Delimited) else {}
    for name, label, default, choices in _DELIMITED:
        value = values.get(name, answers.given(name) or default)
        yield make_setting(answers, name, label, value, choices, help=_HELP.get(name, ""))


def _values(fmt: Delimited) -> dict[str, str]:
    return {
        "delimiter": fmt.delimiter,
        "quote": fmt.quote,
        "encoding": fmt.encoding,
        "header": "true" if fmt.header else "false",
        "nullValues": ", ".join(fmt.null_values),
    }


_DELIMITED: tuple[tuple[str, str, str, tuple[Choice, ...]], ...] = (
    ("delimiter", "Delimiter", ",", DELIMITERS),
    ("quote", "Quote", '"', QUOTES),
    ("encoding", "Encoding", "utf-8", EVERY_ENCODING),
    ("header", "First line", "true", HEADERS),
    ("nullValues", "Texts for NULL", "", ()),
)
_HELP = {"nullValues": "Separated by commas: NA, n/a"}
