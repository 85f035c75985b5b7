"""Files of public lists are read as their lists say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow.orc import ORCFile

from executors.formats import orc, parquet
from executors.formats.json_rows import BadRecordError, read_row
from executors.http_api.responses import NotJson, check_json
from ir.formats import Csv, Orc, Parquet
from tests.executors.formats.public_suites import arrow_files, csv_spectrum, json_texts

CSV = Csv(type="csv")


@pytest.mark.parametrize(("content", "rows"), csv_spectrum())
def test_csv_spectrum(reader: Any, content: bytes, rows: list[dict[str, str]]) -> None:
    # The list has no NULL: it calls empty cells empty texts.
    found = [{name: value or "" for name, value in row.items()} for row in reader.rows(content, CSV)]
    assert found == rows


@pytest.mark.parametrize("path", arrow_files("parquet"))
def test_parquet_files_of_arrow(reader: Any, path: Path) -> None:
    fmt = Parquet(type="parquet")
    rows = reader.read(scan := parquet.scan(reader.found(path), fmt), fmt)
    assert scan.records == len(rows) == pq.read_metadata(path).num_rows
    assert not [row for row in rows if row["_flow_bad"] is not None]


@pytest.mark.parametrize("path", arrow_files("orc"))
def test_orc_files_of_arrow(reader: Any, path: Path) -> None:
    fmt = Orc(type="orc")
    rows = reader.read(scan := orc.scan(reader.found(path), fmt), fmt)
    assert scan.records == len(rows) == ORCFile(path).nrows
    assert not [row for row in rows if row["_flow_bad"] is not None]


@pytest.mark.parametrize("text", json_texts("y"))
def test_valid_json(text: str) -> None:
    check_json(text)
    read_row(f'{{"value": {text}}}')


@pytest.mark.parametrize("text", json_texts("n"))
def test_invalid_json(text: str) -> None:
    with pytest.raises(NotJson):
        check_json(text)
    with pytest.raises(BadRecordError):
        read_row(f'{{"value": {text}}}')


@pytest.mark.parametrize("text", json_texts("i"))
def test_json_that_may_be_refused_ends_in_a_row_or_a_reason(text: str) -> None:
    try:
        row, _ = read_row(f'{{"value": {text}}}')
    except BadRecordError:
        return
    assert row["value"] is None or row["value"].encode()
