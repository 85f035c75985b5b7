"""Searches for rows of a Delta table by the values of some columns."""

from __future__ import annotations

import json
import math
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
from executors.delta.tables import schema_of, why_unreadable
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
    if reasons := why_unreadable(table):
        return SearchResult(trouble=f"It has {', '.join(reasons)}, which Flow does not support.")
    fields = table.schema().fields
    kinds = {field.name: kind for field in fields if (kind := column_type(field.type)) is not None}
    names = {field.name: None for field in fields}
    if missing := [column for column in key if column not in names]:
        return unknown_columns(missing, names)
    if others := [column for column in key if column not in kinds]:
        return SearchResult(trouble=f"Columns of this type cannot be searched: {', '.join(others)}.")
    conditions, floats = list[pc.Expression](), dict[str, pa.Scalar]()
    for column, text in key.items():
        typed, bad = convert_column(pa.array([text], pa.string()), kinds[column])
        if bad[0].as_py():
            return UNREADABLE
        if pa.types.is_floating(typed.type):
            floats[column] = typed[0]
        else:
            conditions.append(pc.field(column) == typed[0])
    lacks = tuple(column for column in FILLED if column not in kinds)
    paths = sorted(files_of(table, folder))
    if not paths:
        return SearchResult(lacks=lacks)
    with translate(folder.name):
        dataset = ds.dataset(paths, schema=schema_of(table), format="parquet", filesystem=folder.files)
        condition = reduce(and_, conditions) if conditions else None
        scanner = dataset.scanner(list(kinds), filter=condition, use_threads=False)
        return replace(_look(scanner, floats), lacks=lacks)


def _with_floats(batch: pa.RecordBatch, floats: Mapping[str, pa.Scalar]) -> pa.RecordBatch:
    """Return the rows with these values. Files have no statistics of NaN, but Arrow takes what they have for a proof
    that a row group has none, so a condition of the scan would be wrong."""
    for column, value in floats.items():
        values = batch.column(column)
        batch = batch.filter(pc.is_nan(values) if math.isnan(value.as_py()) else pc.equal(values, value))
    return batch


def _look(scanner: ds.Scanner, floats: Mapping[str, pa.Scalar]) -> SearchResult:
    end, found = time.monotonic() + SECONDS, list[Row]()
    for batch in scanner.to_batches():
        found += _rows(_with_floats(batch, floats).slice(0, MOST_FOUND + 1 - len(found)))
        if len(found) > MOST_FOUND:
            return SearchResult(tuple(found[:MOST_FOUND]), has_more=True)
        if time.monotonic() > end:
            return SearchResult(tuple(found), trouble=TOO_LONG)
    return SearchResult(tuple(found))


def _rows(batch: pa.RecordBatch) -> Iterator[Row]:
    """Yield rows with numbers as numbers, except for decimals, which a float would change, and all else as text."""
    names = {name: name for name in batch.schema.names}
    return (json.loads(text, parse_float=str) for text in row_texts(batch, names))
