"""Row rules: the conditions that each row must satisfy, and what happens to a row that violates one. One file for each
kind, and the table of kinds."""

from __future__ import annotations

from typing import Annotated

from ir.annotations import ByTag, tag_of
from ir.kinds import KindTable
from ir.rules.base import ON_FAIL_LABELS, FieldRule, RowOnFail, RowRule, rule_id
from ir.rules.email import Email
from ir.rules.expression import Expression
from ir.rules.field_type import FieldType
from ir.rules.json_schema import JsonSchema
from ir.rules.max_length import MaxLength
from ir.rules.min_length import MinLength
from ir.rules.not_in_future import NotInFuture
from ir.rules.not_null import NotNull
from ir.rules.not_one_of import NotOneOf
from ir.rules.one_of import OneOf
from ir.rules.range import Range
from ir.rules.regex import Regex
from ir.rules.url import Url

RULE_KINDS = (
    NotNull,
    Regex,
    Range,
    MinLength,
    MaxLength,
    FieldType,
    OneOf,
    NotOneOf,
    Expression,
    NotInFuture,
    Email,
    Url,
    JsonSchema,
)
RULES: KindTable[type[RowRule]] = KindTable("row rule", ((tag_of(kind, "type"), kind) for kind in RULE_KINDS))
Rule = Annotated[
    NotNull
    | Regex
    | Range
    | MinLength
    | MaxLength
    | FieldType
    | OneOf
    | NotOneOf
    | Expression
    | NotInFuture
    | Email
    | Url
    | JsonSchema,
    ByTag("type"),
]

__all__ = [
    "ON_FAIL_LABELS",
    "RULES",
    "RULE_KINDS",
    "Email",
    "Expression",
    "FieldRule",
    "FieldType",
    "JsonSchema",
    "MaxLength",
    "MinLength",
    "NotInFuture",
    "NotNull",
    "NotOneOf",
    "OneOf",
    "Range",
    "Regex",
    "RowOnFail",
    "RowRule",
    "Rule",
    "Url",
    "rule_id",
]
