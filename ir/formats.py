"""File formats of file sources and their settings."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import ByTag, tag_of
from ir.base import Spec
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.kinds import KindTable
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


class Format(Spec):
    """The base of all formats."""

    type: str

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

    type: Literal["csv"]


class Tsv(Delimited):
    """Text with tab-separated values."""

    type: Literal["tsv"]
    delimiter: OneCharacter = Field("\t", description="The character between two values.")


class Json(Format):
    """One JSON array of objects."""

    type: Literal["json"]
    on_bad_row: OnBadRow = BAD_ROW


class Jsonl(Format):
    """One JSON object per line."""

    type: Literal["jsonl"]
    on_bad_row: OnBadRow = BAD_ROW


class Parquet(Format):
    """Apache Parquet files."""

    type: Literal["parquet"]


class Orc(Format):
    """Apache ORC files."""

    type: Literal["orc"]


class Avro(Format):
    """Apache Avro files."""

    type: Literal["avro"]


class Xml(Format):
    """XML documents."""

    type: Literal["xml"]


FORMAT_KINDS = (Csv, Tsv, Json, Jsonl, Parquet, Orc, Avro, Xml)
FORMATS: KindTable[type[Format]] = KindTable("format", ((tag_of(kind, "type"), kind) for kind in FORMAT_KINDS))
AnyFormat = Annotated[Csv | Tsv | Json | Jsonl | Parquet | Orc | Avro | Xml, ByTag("type")]


def check_encoding(name: str, at: Pointer) -> Iterator[Diagnostic]:
    try:
        known = codecs.lookup(name).name in ENCODINGS
    except (LookupError, ValueError):  # ValueError: a NUL in the name
        known = False
    if not known:
        near = guess(name, ENCODINGS)
        message = f"Unknown text encoding {shown(name)}." + (f" Did you mean {near}?" if near else "")
        yield diagnose("encoding.unknown", at, message)
