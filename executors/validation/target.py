"""The implicit rules of a target's columns: type, NOT NULL, length, and text that PostgreSQL cannot store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.charsets import UTF8, Charset
from executors.grammar import convert_column
from executors.grammar.broken_text import without_broken
from executors.grammar.stages import holds_nul
from executors.model import StageColumn
from executors.rules.max_length import too_long
from executors.types import wire_type
from executors.validation.findings import Findings, Severity
from executors.validation.plan import ValidationPlan

BROKEN = "is not UTF-8 text; bytes are read as text by decode() in their own encoding, and written by hex() or base64()"
_SEVERITY: dict[str, Severity] = {"abort": "abort", "skip": "skip", "null": "warn"}


@dataclass(frozen=True, slots=True)
class Problem:
    kind: str
    mask: pa.BooleanArray
    message: str
    own: Mapping[int, str] = field(default_factory=dict)


def cast_severity(plan: ValidationPlan) -> Severity:
    return _SEVERITY[plan.on_type_mismatch]


def finish_column(column: StageColumn, values: pa.Array, charset: Charset = UTF8) -> tuple[pa.Array, list[Problem]]:
    """Convert a working column to the wire type of its stage column; returns it with the problems of its values."""
    if column.empty_as_null:
        values = without_empty(values)
    readable, broken = without_broken(values)
    typed, bad = convert_column(readable, column.type)
    problems = [Problem("type", bad, f"does not fit {column.type}")]
    if not column.nullable and values.null_count:
        problems.append(Problem("notNull", pc.is_null(values), "must not be empty"))
    if broken is not None:
        problems.append(Problem("text", broken, BROKEN))
    if pa.types.is_string(wire_type(column.type).arrow):
        problems += _text_problems(column, typed, charset)
    return typed, [problem for problem in problems if problem.mask.true_count]


def without_empty(values: pa.Array) -> pa.Array:
    """Replace '' by NULL."""
    if not pa.types.is_string(values.type):
        return values
    empty = pc.fill_null(pc.equal(pc.binary_length(values), 0), False)
    return pc.if_else(empty, pa.scalar(None, pa.string()), values) if empty.true_count else values


def _text_problems(column: StageColumn, text: pa.Array, charset: Charset) -> list[Problem]:
    problems = []
    if lacking := charset.lacking(text):
        mask = np.zeros(len(text), dtype=bool)
        mask[list(lacking)] = True
        message = f"contains a character that the database's encoding {charset.encoding} does not have"
        own = {index: charset.describe(char) for index, char in lacking.items()}
        problems.append(Problem("character", pa.array(mask), message, own))
    if holds_nul(text):
        has_nul = pc.fill_null(pc.match_substring(text, "\0"), False)
        problems.append(Problem("text", has_nul, "contains a NUL character"))
    if column.max_length is not None:
        problems.append(
            Problem("length", too_long(text, column.max_length), f"is longer than {column.max_length} characters")
        )
    return problems


def validate_column(findings: Findings, plan: ValidationPlan, column: StageColumn, values: pa.Array) -> pa.Array:
    """Add the column's problems to the findings and return it for staging. With `onTypeMismatch: null`, bad values
    become NULL."""
    typed, problems = finish_column(column, values, plan.charset)
    to_null = plan.on_type_mismatch == "null" and column.nullable
    severity = _SEVERITY[plan.on_type_mismatch] if to_null or plan.on_type_mismatch != "null" else "skip"
    for problem in problems:
        findings.add(
            plan.target,
            f"{problem.kind}:{column.name}",
            problem.kind,
            column.name,
            severity,
            problem.mask,
            problem.message,
            problem.own,
        )
        if to_null:
            typed = pc.if_else(problem.mask, pa.scalar(None, typed.type), typed)
    return typed
