"""File formats of file sources and their settings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.base import Spec

OnBadRow = Literal["reject", "abort"]
OneCharacter = Annotated[str, Field(min_length=1, max_length=1)]


class Delimited(Spec):
    """Settings that csv and tsv share."""

    header: bool = True
    quote: OneCharacter = '"'
    encoding: str = "utf-8"
    null_values: list[str] = []
    on_bad_row: OnBadRow = "reject"


class Csv(Delimited):
    type: Literal["csv"]
    delimiter: OneCharacter = ","


class Tsv(Delimited):
    type: Literal["tsv"]
    delimiter: OneCharacter = "\t"


class Json(Spec):
    """One JSON array of objects."""

    type: Literal["json"]
    on_bad_row: OnBadRow = "reject"


class Jsonl(Spec):
    """One JSON object a line."""

    type: Literal["jsonl"]
    on_bad_row: OnBadRow = "reject"


class Parquet(Spec):
    type: Literal["parquet"]


class Orc(Spec):
    type: Literal["orc"]


class Avro(Spec):
    type: Literal["avro"]


class Xml(Spec):
    type: Literal["xml"]


FORMAT_KINDS = (Csv, Tsv, Json, Jsonl, Parquet, Orc, Avro, Xml)
Format = Annotated[Csv | Tsv | Json | Jsonl | Parquet | Orc | Avro | Xml, Field(discriminator="type")]
