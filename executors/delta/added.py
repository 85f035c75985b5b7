"""Files that a commit adds to a table, with the statistics of their columns."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from executors.delta.failures import translate
from executors.delta.folders import TableFolder

MAX_TEXT = 64
"""Longer texts have no statistics: a shortened maximum would be wrong."""


def added_file(folder: TableFolder, path: str, size: int) -> tuple[AddAction, int]:
    """Return the action that adds a file of this size in bytes, and its number of rows."""
    with translate(folder.name), folder.files.open_input_file(path) as stream:
        metadata = pq.read_metadata(stream)
    statistics = json.dumps(_statistics(metadata))
    now = int(time.time() * 1000)
    return AddAction(path, size, {}, now, True, statistics), int(metadata.num_rows)


def _statistics(metadata: pq.FileMetaData) -> Mapping[str, Any]:
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for column in range(metadata.num_columns):
        found = [metadata.row_group(group).column(column) for group in range(metadata.num_row_groups)]
        name, of_groups = found[0].path_in_schema if found else "", [chunk.statistics for chunk in found]
        if not of_groups or any(one is None or not one.has_null_count for one in of_groups):
            continue
        nulls[name] = sum(one.null_count for one in of_groups)
        bounds = list(_bounds(of_groups))
        if bounds and len(bounds) == sum(one.num_values > 0 for one in of_groups):
            low[name], high[name] = min(bound[0] for bound in bounds), max(bound[1] for bound in bounds)
    return {"numRecords": metadata.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}


def _bounds(of_groups: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the least and the greatest value of each row group that has values, where a statistic can have them."""
    for one in of_groups:
        if one.num_values and one.has_min_max:
            least, greatest = one.min, one.max
            if isinstance(least, date) and type(least) is date:
                yield least.isoformat(), greatest.isoformat()
            elif (isinstance(least, int) and not isinstance(least, bool)) or (
                isinstance(least, str) and len(least) <= MAX_TEXT and len(greatest) <= MAX_TEXT
            ):
                yield least, greatest
