"""Converts column types to Spark types and back."""

from __future__ import annotations

from pyspark.sql import types as spark

from ir.join_keys import MOST_DIGITS
from ir.types import STRING, ColumnType

_SPARK: dict[str, spark.DataType] = {
    "string": spark.StringType(),
    "integer": spark.IntegerType(),
    "bigint": spark.LongType(),
    "float": spark.DoubleType(),
    "boolean": spark.BooleanType(),
    "date": spark.DateType(),
    "timestamp": spark.TimestampNTZType(),
    "timestamptz": spark.TimestampType(),
    "binary": spark.BinaryType(),
}

_COLUMN: dict[type[spark.DataType], ColumnType] = {
    **{type(kind): ColumnType(name) for name, kind in _SPARK.items()},
    spark.ByteType: ColumnType("integer"),
    spark.ShortType: ColumnType("integer"),
    spark.FloatType: ColumnType("float"),
    spark.VarcharType: STRING,
    spark.CharType: STRING,
}


def is_native(kind: ColumnType) -> bool:
    """Return whether Spark has this type. Values of the other types (json, uuid, time, pg, long decimals) are their
    canonical text in expressions."""
    return kind.kind in _SPARK or (kind.kind == "decimal" and kind.precision <= MOST_DIGITS)


def spark_type(kind: ColumnType) -> spark.DataType:
    """Return the type of the frame column for values of a column type. It is text for types that Spark does not
    have."""
    if kind.kind == "decimal" and is_native(kind):
        return spark.DecimalType(kind.precision, kind.scale)
    return _SPARK.get(kind.kind, spark.StringType())


def column_type(kind: spark.DataType) -> ColumnType | None:
    """Return the column type of an expression's result; None if no column can have it (arrays, maps, NULL …)."""
    if isinstance(kind, spark.DecimalType):
        return ColumnType("decimal", kind.precision, kind.scale)
    return _COLUMN.get(type(kind))
