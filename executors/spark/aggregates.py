"""Computes columns from the rows of a group. The first row of each group represents the group. All rows stay in their
positions, so that rejected rows reach validation like all others."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.window import WindowSpec

from executors.spark.compiled import Aggregate, GroupColumn
from executors.spark.types import spark_type
from executors.validation import FILE, RECORD

MOST_RECORDS = 100
"""The number of records of a group whose origin the entry of a rejected group names."""


_FEW = "_flow_few"
"""True for the first rows of each group."""


def add_groups(frame: DataFrame, stage: Aggregate, tasks: int) -> DataFrame:
    """Return the frame with the columns that the stage adds. The order of the rows changes."""
    asked = F.expr(stage.eligible)
    by = [asked, *map(F.col, stage.keys)]
    group = SparkWindow.partitionBy(*by)
    # The number of tasks, and so of connections to the target, stays the same.
    spread = frame.repartition(tasks, *by)
    place = F.row_number().over(group.orderBy(FILE, RECORD))
    marks = {stage.is_first: asked & (place == 1), _FEW: place <= MOST_RECORDS}
    places = {_place_of(c): _place(c, group) for c in stage.columns if c.function == "countDistinct"}
    found = spread.select("*", *(value.alias(name) for name, value in (marks | places).items()))
    # A partition of their own, because Spark copies the result of a window into each row of the partition.
    few = SparkWindow.partitionBy(*by, _FEW)
    origin = F.struct(F.col(FILE).alias("file"), F.col(RECORD).alias("record"))
    added = {column.out: _computed(column, asked).over(group).cast(spark_type(column.type)) for column in stage.columns}
    added |= {
        stage.rows: F.count(F.lit(1)).over(group),
        stage.records: F.to_json(F.sort_array(F.collect_list(F.when(F.col(_FEW), origin)).over(few))),
    }
    first = F.col(stage.is_first)
    return found.select("*", *(F.when(first, value).alias(name) for name, value in added.items())).drop(_FEW, *places)


def _computed(column: GroupColumn, asked: Column) -> Column:
    """Return the aggregate of a column. Rows that are not eligible are in no group, and their values must not cause
    errors."""
    if column.argument is None:
        return F.count(F.lit(1))
    value = F.when(asked, F.expr(column.argument))
    match column.function:
        case "count":
            return F.count(value)
        case "sum":
            return F.sum(value)
        case "avg":
            return F.avg(value)
        case "min":
            return F.min(value)
        case "max":
            return F.max(value)
    return F.max(F.when(value.isNull(), 0).otherwise(F.col(_place_of(column))))


def _place_of(column: GroupColumn) -> str:
    return f"_flow_place_{column.out}"


def _place(column: GroupColumn, group: WindowSpec) -> Column:
    """Return the rank of a value among the distinct values of its group, from 1. The highest rank is the number of
    distinct values, because a window cannot count them."""
    value = F.expr(str(column.argument))
    return F.dense_rank().over(group.orderBy(value.asc_nulls_last()))
