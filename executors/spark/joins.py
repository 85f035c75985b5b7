"""Looks rows up in a reference. Each row stays one row, whatever the reference contains."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from executors.errors import Terminal
from executors.secrets import encrypt_text
from executors.spark.batch_passthrough import BATCH, ROW
from executors.spark.compiled import Compiled, Join
from executors.spark.types import spark_type
from ir.words import counted

ROWS, VALUES = "_flow_rows", "_flow_values"
"""The number of rows of the reference that have a key, and the columns of one of them."""


def add_join(frame: DataFrame, join: Join, reference: DataFrame) -> DataFrame:
    """Return the frame with the columns that the join adds. The number of rows does not change, because the reference
    is grouped by its keys first. NULL is not a key."""
    looked_up = {f"{join.match}_key_{i}": F.expr(sql).cast(spark_type(t)) for i, (sql, _, t) in enumerate(join.keys)}
    found = {f"{join.match}_found_{i}": _column(name).cast(spark_type(t)) for i, (_, name, t) in enumerate(join.keys)}
    keys, values = list(found), [column for _, column in join.columns]
    if join.moves_rows:
        own, other = f"{join.match}_spread", f"{join.match}_found_spread"
        looked_up, found = (
            {own: shuffle_key(looked_up.values())} | looked_up,
            {other: F.xxhash64(*found.values())} | found,
        )
        grouped = _by_key(reference, found, values)
    else:
        grouped = F.broadcast(_by_key(reference, found, values))
    looking = frame.select("*", *(key.alias(name) for name, key in looked_up.items()))
    is_equal = [F.col(own) == F.col(other) for own, other in zip(looked_up, found, strict=True)]
    joined = looking.join(grouped, is_equal, "left")
    return joined.select(*frame.columns, *_added(join, keys))


def shuffle_key(keys: Iterable[Column]) -> Column:
    """Return the hash by which rows are distributed to tasks. The join also compares the hash. Rows with a NULL key,
    which match no row of the reference, get a hash of their own each; otherwise Spark would send all of them to one
    task."""
    columns = list(keys)
    is_null = reduce(or_, (key.isNull() for key in columns))
    return F.when(is_null, F.xxhash64(BATCH, ROW)).otherwise(F.xxhash64(*columns))


def _by_key(reference: DataFrame, keys: dict[str, Column], columns: list[str]) -> DataFrame:
    """Return one row for each key, with the number of rows that have the key."""
    # Named by position, because a column can be both a key and an added column.
    values = F.struct(*(_column(name).alias(f"v{i}") for i, name in enumerate(columns))) if columns else F.lit(True)
    given = reference.select(*(key.alias(name) for name, key in keys.items()), values.alias(VALUES))
    known = given.dropna(subset=list(keys))
    return known.groupBy(*keys).agg(F.count(F.lit(1)).alias(ROWS), F.first(VALUES).alias(VALUES))


def _column(name: str) -> Column:
    """Return a column by its name in the document. A dot in the name does not access a field."""
    return F.col(f"`{name.replace('`', '``')}`")


def _added(join: Join, keys: list[str]) -> list[Column]:
    added = [F.col(VALUES).getField(f"v{i}").alias(out) for i, (out, _) in enumerate(join.columns)]
    added.append(F.when(F.expr(join.asked), F.col(ROWS).isNotNull()).alias(join.match))
    if join.repeated is not None:
        names = [name for _, name, _ in join.keys]
        key = F.to_json(F.struct(*(F.col(k).alias(name) for k, name in zip(keys, names, strict=True))))
        text = F.concat(F.col(ROWS).cast("string"), F.lit(" "), key)
        added.append(F.when(F.col(ROWS) > 1, text).alias(join.repeated))
    return added


@dataclass(frozen=True, slots=True)
class UniqueKeys:
    """Raises Terminal `join.key_not_unique` for a row that matches several rows of a reference. `joins` are (column of
    the frame, node, reference, key columns)."""

    joins: tuple[tuple[str, str, str, tuple[str, ...]], ...]

    def __call__(self, batch: pa.RecordBatch) -> None:
        for column, node, reference, keys in self.joins:
            repeated = batch.column(column)
            if repeated.null_count < len(repeated):
                first = pc.drop_null(repeated)[0].as_py()
                raise _not_unique(node, reference, keys, first, len(repeated) - repeated.null_count)


def unique_keys(compiled: Compiled) -> UniqueKeys | None:
    joins = [
        (join.repeated, join.node, join.reference.id, tuple(name for _, name, _ in join.keys))
        for join in compiled.joins
        if join.repeated is not None
    ]
    return UniqueKeys(tuple(joins)) if joins else None


def _not_unique(node: str, reference: str, keys: tuple[str, ...], first: str, rows: int) -> Terminal:
    count, _, key = first.partition(" ")
    failure = Terminal(
        "join.key_not_unique",
        f"The key ({', '.join(keys)}) of {reference} is not unique: {int(count):,} of its rows have one of the keys "
        f"that are looked up. {counted(rows, 'row')} or more would be multiplied.",
        node=node,
        hint=f"Keep one row of each key with a deduplicate in a transform between {reference} and the join, or join by "
        "columns that identify a row. The types semi and anti take any number of matches.",
    )
    # Without a public key the detail cannot be encrypted, and the failure is raised without it.
    with suppress(Terminal):
        failure.encrypted_detail = encrypt_text(f"{count} rows of {reference} have the key {key}.")
    return failure
