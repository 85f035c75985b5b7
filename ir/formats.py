"""File formats of file sources and their settings."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from ir.annotations import ByTag, NoNewline, tag_of
from ir.base import Spec
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.kinds import KindTable
from ir.not_yet import NOT_YET
from ir.pointers import Pointer
from ir.spelling import guess, words

OnBadRow = Literal["reject", "abort"]
OneCharacter = Annotated[str, Field(min_length=1, max_length=1)]

BAD_ROW: OnBadRow = Field(
    "reject",
    title="On bad row",
    description="What happens to a row that cannot be read.",
    json_schema_extra={"labels": {"reject": "reject the row", "abort": "fail the run"}, "advanced": True},
)

ENCODINGS = words(
    """
    utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be ascii iso8859-1 iso8859-2 iso8859-3 iso8859-4
    iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-10 iso8859-11 iso8859-13 iso8859-14 iso8859-15 iso8859-16
    cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp437 cp850 cp852 cp866 cp932 cp949 cp950 koi8-r
    koi8-u mac-roman shift_jis euc_jp euc_kr gbk gb2312 gb18030 big5
    """
)
"""Python's names of text encodings; other codecs are excluded."""


CellRange = Annotated[
    str, StringConstraints(pattern=r"^[A-Z]{1,3}[1-9][0-9]{0,6}(:[A-Z]{1,3}[1-9][0-9]{0,6})?$"), NoNewline()
]
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


_ELEMENT = r"""[^\s/<>&"'*:@\[\]()=,|]+"""
ElementName = Annotated[str, StringConstraints(pattern=rf"^{_ELEMENT}$", max_length=255), NoNewline()]
RecordPath = Annotated[
    str, StringConstraints(pattern=rf"^/?(\*|{_ELEMENT})(/(\*|{_ELEMENT}))*$", max_length=1000), NoNewline()
]


_COMPRESSED = re.compile(r"\.(?:gz|bz2|zst)$")


class Format(Spec):
    """The base of all formats. `label` is the name of the format on pages and in messages. `endings` are the usual ones
    of names, by which its files are found in ZIP archives; () stands for any name, None says that the format is not
    read from archives."""

    label: ClassVar[str]
    endings: ClassVar[tuple[str, ...] | None] = None
    type: str

    @classmethod
    def is_usual(cls, name: str) -> bool:
        """Return whether a file in a ZIP archive has a usual name for the format. It may be compressed once more."""
        return cls.endings is not None and _COMPRESSED.sub("", name.lower()).endswith(cls.endings or "")

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        yield "format", self.type, at / "type"


class Delimited(Format):
    """The settings of csv and tsv."""

    header: bool = Field(True, description="Whether the first line contains the column names.")
    delimiter: OneCharacter = Field(",", description="The character between two values.")
    quote: OneCharacter = Field(
        '"',
        description="The character around values that contain a delimiter or a line break.",
        json_schema_extra={"advanced": True},
    )
    encoding: str = Field("utf-8", description="The text encoding, by its Python name.", examples=["cp1252"])
    null_values: list[str] = Field(
        default=[], title="Texts for NULL", description="Texts that are read as NULL.", examples=[["NA", "\\N"]]
    )
    on_bad_row: OnBadRow = BAD_ROW

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.delimiter == self.quote:
            yield diagnose("format.separators", at / "quote", f"Delimiter and quote are both {shown(self.quote)}.")
        for name in ("delimiter", "quote"):
            if getattr(self, name) in "\r\n":
                yield diagnose("format.separators", at / name, f"The {name} cannot be a line break.")
        yield from check_encoding(self.encoding, at / "encoding")


class Csv(Delimited):
    """Text with comma-separated values."""

    label = "CSV"
    endings = (".csv",)
    type: Literal["csv"]


class Tsv(Delimited):
    """Text with tab-separated values."""

    label = "TSV"
    endings = (".tsv", ".tab")
    type: Literal["tsv"]
    delimiter: OneCharacter = Field("\t", description="The character between two values.")


class FixedColumn(Spec):
    """A column of text of fixed width."""

    name: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        title="Column name", description="The name of the column."
    )
    width: Annotated[int, Field(ge=1, le=1_000_000)] = Field(description="The number of characters.")
    start: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None,
        description="The position of the first character; the first of a line is 1. Without it the column follows the "
        "previous one.",
    )


class FixedWidth(Format):
    """Text whose columns have fixed positions in each line."""

    label = "fixed width"
    endings = ()
    type: Literal["fixed_width"]
    columns: Annotated[list[FixedColumn], Field(min_length=1, max_length=5000)] = Field(
        title="Positions", description="The columns with their widths, in characters."
    )
    skip_lines: Annotated[int, Field(ge=0, le=1000)] = Field(
        0,
        title="Lines before the rows",
        description="How many lines at the start are not rows, such as a header. Empty lines do not count.",
    )
    trim: bool = Field(
        True,
        description="Whether blanks around a value are removed. A value of blanks only is then NULL.",
        json_schema_extra={"advanced": True},
    )
    encoding: str = Field("utf-8", description="The text encoding, by its Python name.", examples=["cp1252"])
    null_values: list[str] = Field(
        default=[], title="Texts for NULL", description="Texts that are read as NULL.", examples=[["NA", "\\N"]]
    )
    on_bad_row: OnBadRow = BAD_ROW

    def ranges(self) -> Iterator[tuple[FixedColumn, int, int]]:
        """Yield each column with its first character, counted from 0, and the character after its last one."""
        at = 0
        for column in self.columns:
            at = at if column.start is None else column.start - 1
            yield column, at, at + column.width
            at += column.width

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        seen: set[str] = set()
        for index, column in enumerate(self.columns):
            if column.name in seen:
                message = f"The column {shown(column.name)} is declared twice."
                yield diagnose("column.repeated", at / "columns" / index / "name", message)
            seen.add(column.name)
        yield from check_encoding(self.encoding, at / "encoding")


class Xlsx(Format):
    """A sheet of an Excel workbook."""

    label = "Excel (.xlsx)"
    type: Literal["xlsx"]
    sheet: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="The name of the sheet. Without it the first visible sheet is read."
    )
    range: CellRange | None = Field(
        None,
        title="Cells",
        description="The cells of the table, such as B3:F200. The first cell alone, such as B3, stands for all cells "
        "below it and to its right.",
        examples=["B3", "A1:F200"],
    )
    header: bool = Field(True, description="Whether the first row that is not empty contains the column names.")
    null_values: list[str] = Field(
        default=[], title="Texts for NULL", description="Texts that are read as NULL.", examples=[["NA", "#N/A"]]
    )
    on_bad_row: OnBadRow = BAD_ROW

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.range and len(self.bounds()) > 2:
            (left, top), (right, bottom) = self.bounds()[:2], self.bounds()[2:]
            if right < left or bottom < top:
                message = f"The cells {shown(self.range)} end before they begin."
                yield diagnose("format.range", at / "range", message)

    def bounds(self) -> tuple[int, ...]:
        """Return the first column and row of the range, then the last ones if it has them, each counted from 1."""
        found = _CELL.findall(self.range or "A1")
        return tuple(number for letters, row in found for number in (_column(letters), int(row)))


class Json(Format):
    """One JSON array of objects."""

    label = "JSON"
    endings = (".json",)
    type: Literal["json"]
    on_bad_row: OnBadRow = BAD_ROW


class Jsonl(Format):
    """One JSON object per line."""

    label = "JSON lines"
    endings = (".jsonl", ".ndjson")
    type: Literal["jsonl"]
    on_bad_row: OnBadRow = BAD_ROW


class Parquet(Format):
    """Apache Parquet files."""

    label = "Parquet"
    type: Literal["parquet"]


class Orc(Format):
    """Apache ORC files."""

    label = "ORC"
    type: Literal["orc"]


class Avro(Format):
    """Apache Avro files."""

    label = "Avro"
    type: Literal["avro"]


class Xml(Format):
    """XML documents with one record in each element of a kind."""

    label = "XML"
    endings = (".xml",)
    type: Literal["xml"]
    record_path: RecordPath = Field(
        title="Record path",
        description="The elements from the root to that of a record, separated by slashes. * stands for any element. "
        "Namespaces are not compared.",
        examples=["orders/order"],
    )
    repeated: list[ElementName] = Field(
        default=[],
        title="Repeated elements",
        description="Elements that a record may have several times, or that elements in it may have. Each becomes a "
        "JSON array, also if there is only one.",
        examples=[["line"]],
    )
    on_bad_row: OnBadRow = BAD_ROW

    @property
    def steps(self) -> tuple[str, ...]:
        return tuple(self.record_path.strip("/").split("/"))


FORMAT_KINDS = (Csv, Tsv, FixedWidth, Xlsx, Json, Jsonl, Parquet, Orc, Avro, Xml)
FORMATS: KindTable[type[Format]] = KindTable("format", ((tag_of(kind, "type"), kind) for kind in FORMAT_KINDS))
READABLE = tuple(kind for kind in FORMAT_KINDS if ("format", tag_of(kind, "type")) not in NOT_YET)
"""The formats that runs read."""
READABLE_NAMES = f"{', '.join(kind.label for kind in READABLE[:-1])} and {READABLE[-1].label}"
AnyFormat = Annotated[Csv | Tsv | FixedWidth | Xlsx | Json | Jsonl | Parquet | Orc | Avro | Xml, ByTag("type")]


def check_encoding(name: str, at: Pointer) -> Iterator[Diagnostic]:
    try:
        known = codecs.lookup(name).name in ENCODINGS
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        known = False
    if not known:
        near = guess(name, ENCODINGS)
        message = f"Unknown text encoding {shown(name)}." + (f" Did you mean {near}?" if near else "")
        yield diagnose("encoding.unknown", at, message)
