"""Computes columns from the ordered rows of a partition. Each row stays one row, in its position."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.window import WindowSpec

from executors.spark.compiled import Window, WindowColumn
from executors.validation import FILE, RECORD


def add_window(frame: DataFrame, stage: Window, tasks: int) -> DataFrame:
    """Return the frame with the columns that the stage adds. The order of the rows changes."""
    by = [F.expr(stage.eligible), *map(F.col, stage.keys)]
    order = [F.col(name).desc_nulls_last() if down else F.col(name).asc_nulls_first() for name, down in stage.order]
    equals = SparkWindow.partitionBy(*by).orderBy(*order)
    one_by_one = SparkWindow.partitionBy(*by).orderBy(*order, F.col(FILE), F.col(RECORD))
    added = {column.out: _computed(column, one_by_one, equals) for column in stage.columns}
    # The number of tasks, and so of connections to the target, stays the same.
    spread = frame.repartition(tasks, *by)
    if stage.tie is not None:
        same = SparkWindow.partitionBy(*by, *(F.col(name) for name, _ in stage.order))
        values = F.struct(*map(F.col, stage.tie.compared))
        added[stage.tie.column] = F.min(values).over(same) != F.max(values).over(same)
    asked = F.expr(stage.eligible)
    return spread.select("*", *(F.when(asked, column).alias(out) for out, column in added.items()))


def _computed(column: WindowColumn, one_by_one: WindowSpec, equals: WindowSpec) -> Column:
    argument = F.col(column.argument) if column.argument is not None else F.lit(1)
    match column.function:
        case "rowNumber":
            return F.row_number().over(one_by_one).cast("long")
        case "rank":
            return F.rank().over(equals).cast("long")
        case "lag":
            return F.lag(argument, column.offset).over(one_by_one)
        case "lead":
            return F.lead(argument, column.offset).over(one_by_one)
    so_far = one_by_one.rowsBetween(SparkWindow.unboundedPreceding, SparkWindow.currentRow)
    return F.sum(argument).over(so_far)
