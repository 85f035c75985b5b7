"""Column types as Spark names them, and back."""

from __future__ import annotations

from pyspark.sql import types as spark

from ir.types import STRING, ColumnType

MOST_DIGITS = 38

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
    """Whether Spark has this type. Values of the others (json, uuid, time, pg, long decimals) are their canonical text
    in expressions."""
    return kind.kind in _SPARK or (kind.kind == "decimal" and kind.precision <= MOST_DIGITS)


def spark_type(kind: ColumnType) -> spark.DataType:
    """The type of a frame column that carries such values; text for types that Spark lacks."""
    if kind.kind == "decimal" and is_native(kind):
        return spark.DecimalType(kind.precision, kind.scale)
    return _SPARK.get(kind.kind, spark.StringType())


def column_type(kind: spark.DataType) -> ColumnType | None:
    """The column type of an expression's result; None for what no column can hold (arrays, maps, NULL …)."""
    if isinstance(kind, spark.DecimalType):
        return ColumnType("decimal", kind.precision, kind.scale)
    return _COLUMN.get(type(kind))
