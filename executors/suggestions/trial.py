"""Counts the rows that would violate a rule, with the code that validates runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from executors.rules import row_rule_mask
from executors.suggestions.columns import Row, texts_of
from ir.rules import Expression, RowRule

MOST_EXAMPLES = 20
_NEEDS_SPARK = (
    " a Spark expression. Samples are evaluated without Spark, so the rule was not tried. Run a preview of the saved "
    "pipeline to count its violations; a preview loads nothing."
)


@dataclass(frozen=True, slots=True)
class Trial:
    """The number of rows that the rule evaluated and rejected, and the positions of the first rejected ones. `untried`
    says why it could not be evaluated."""

    rows: int
    hits: int
    examples: tuple[int, ...] = ()
    untried: str = ""


def try_rule(rule: RowRule, rows: Sequence[Row], *, empty_is_null: bool = True) -> Trial:
    """Evaluate a rule on the rows of a sample: texts, numbers and booleans by column."""
    if rule.field is None or isinstance(rule, Expression):
        return Trial(len(rows), 0, untried=f"It is{_NEEDS_SPARK}")
    if rule.when is not None:
        return Trial(len(rows), 0, untried=f"Its `when` is{_NEEDS_SPARK}")
    if rows and all(rule.field not in row for row in rows):
        return Trial(len(rows), 0, untried=f"The rows have no column {rule.field!r}.")
    hit = row_rule_mask(rule, texts_of(rows, rule.field), empty_is_null=empty_is_null).to_pylist()
    indices = [index for index, is_hit in enumerate(hit) if is_hit]
    return Trial(len(rows), len(indices), tuple(indices[:MOST_EXAMPLES]))
