"""Delta tables in the benchmark: the product, and pyarrow with deltalake without Flow. All write tables in folders."""

from __future__ import annotations

import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, write_deltalake
from pyarrow import csv

from executors.model import Connection
from tests.bench.product import RULES, run_once
from tests.destinations.delta.world import DeltaWorld

TYPES = {
    "order_id": pa.int64(),
    "customer_id": pa.int64(),
    "email": pa.string(),
    "age": pa.int32(),
    "country": pa.string(),
    "amount": pa.decimal128(12, 2),
    "note": pa.string(),
    "updated_at": pa.timestamp("us"),
}


def read(path: Path) -> pa.Table:
    return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types=TYPES))


def append_alone(path: Path, folder: Path) -> float:
    """Return the seconds of reading the file and appending its rows to an empty table."""
    table = _empty(folder / "alone")
    start = time.perf_counter()
    write_deltalake(table, read(path), mode="append")
    return time.perf_counter() - start


def merge_alone(path: Path, folder: Path) -> float:
    """Return the seconds of reading the file and merging it into a table with the same keys and other values."""
    table = _filled(path, folder / "alone")
    start = time.perf_counter()
    merge = DeltaTable(table).merge(read(path), "t.order_id = s.order_id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    return time.perf_counter() - start


def append(warehouse: Connection, path: Path, folder: Path) -> float:
    return _load(warehouse, path, folder, _empty, rules=RULES)


def upsert(warehouse: Connection, path: Path, folder: Path) -> float:
    return _load(warehouse, path, folder, partial(_filled, path), mode="upsert", rules=[])


def _load(warehouse: Connection, path: Path, folder: Path, prepare: Any, **about: Any) -> float:
    root = folder / "lake"
    world = DeltaWorld(path.parent.parent, warehouse, "public")
    world.lake_folder = root
    prepare(root / "public" / "orders")
    return run_once(warehouse, path, world=world, **about)[0]


def _empty(table: Path) -> str:
    shutil.rmtree(table, ignore_errors=True)
    DeltaTable.create(str(table), pa.schema([pa.field(*field) for field in TYPES.items()]))
    return str(table)


def _filled(path: Path, table: Path) -> str:
    """Make the table with the rows of the file, each with another note."""
    uri = _empty(table)
    rows = read(path)
    note = pc.binary_join_element_wise(rows["note"], pa.scalar("other"), " ")
    write_deltalake(uri, rows.set_column(rows.schema.get_field_index("note"), "note", note), mode="append")
    return uri
