"""`jsonSchema`: the text must be JSON that is valid under the schema. Each distinct text is parsed once."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import canonical_text, parse_column
from executors.rules.base import Given, RowRuleHandler, by_distinct
from ir.instance_schemas import instance_check
from ir.rules import JsonSchema
from ir.types import ColumnType


def violations(rule: JsonSchema, values: pa.Array, given: Given) -> pa.BooleanArray:
    text = canonical_text(values)
    bad = parse_column(text, ColumnType("json"))[1]
    follows = instance_check(rule.schema_)
    is_json = pc.and_(pc.is_valid(text), pc.invert(bad))
    return pc.or_(bad, by_distinct(text, is_json, lambda value: not follows(value)))


def message(rule: JsonSchema) -> str:
    return "does not follow the JSON Schema"


HANDLER = RowRuleHandler("jsonSchema", violations, message)
