"""Searches for rows of a Delta table by the values of some columns."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset as ds

from executors.delta.failures import translate
from executors.delta.folders import folder_of
from executors.delta.rows import files_of
from executors.delta.tables import schema_of
from executors.delta.types import column_type
from executors.grammar import convert_column
from executors.model import StoreConnection
from executors.row_search import (
    MOST_FOUND,
    NO_TABLE,
    SECONDS,
    TOO_LONG,
    UNREADABLE,
    Row,
    SearchResult,
    unknown_columns,
)
from executors.stage_plan import FILLED
from executors.table_name import TableName
from executors.validation.rows import row_texts


def look_in_table(store: StoreConnection, name: TableName, key: Mapping[str, str]) -> SearchResult:
    """Return the rows of the newest version of a table with these values in some columns. Row groups whose statistics
    exclude the values are not read."""
    folder = folder_of(store, name.schema, name.table)
    table = folder.open()
    if table is None:
        return NO_TABLE
    fields = table.schema().fields
    kinds = {field.name: kind for field in fields if (kind := column_type(field.type)) is not None}
    if missing := [column for column in key if column not in kinds]:
        return unknown_columns(missing, {field.name: None for field in fields})
    conditions = []
    for column, text in key.items():
        typed, bad = convert_column(pa.array([text], pa.string()), kinds[column])
        if bad[0].as_py():
            return UNREADABLE
        conditions.append(pc.field(column) == typed[0])
    lacks = tuple(column for column in FILLED if column not in kinds)
    paths = sorted(files_of(table, folder))
    if not paths:
        return SearchResult(lacks=lacks)
    with translate(folder.name):
        dataset = ds.dataset(paths, schema=schema_of(table), format="parquet", filesystem=folder.files)
        return replace(
            _look(dataset.scanner(list(kinds), filter=reduce(and_, conditions), use_threads=False)), lacks=lacks
        )


def _look(scanner: ds.Scanner) -> SearchResult:
    end, found = time.monotonic() + SECONDS, list[Row]()
    for batch in scanner.to_batches():
        found += _rows(batch.slice(0, MOST_FOUND + 1 - len(found)))
        if len(found) > MOST_FOUND:
            return SearchResult(tuple(found[:MOST_FOUND]), has_more=True)
        if time.monotonic() > end:
            return SearchResult(tuple(found), trouble=TOO_LONG)
    return SearchResult(tuple(found))


def _rows(batch: pa.RecordBatch) -> Iterator[Row]:
    """Yield rows with numbers as numbers, except for decimals, which a float would change, and all else as text."""
    names = {name: name for name in batch.schema.names}
    return (json.loads(text, parse_float=str) for text in row_texts(batch, names))
