"""The base of row rules."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, Literal

import rfc8785
from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from ir.annotations import JsonScalar
from ir.base import Id, Spec, Text
from ir.diagnostics import Diagnostic, diagnose
from ir.expressions.checking import check_expression, expression_reads
from ir.names import check_identifier
from ir.pointers import Pointer

RowOnFail = Literal["abort", "warn", "skip"]
ON_FAIL_LABELS = {"abort": "fail the run", "warn": "load and warn", "skip": "reject row"}
"""Labels of the actions after a failed rule or check. Documents contain the keys."""
Percent = Annotated[int | float, JsonScalar(("number",), ge=0, le=100)]
LIMITS: JsonDict = {"group": "Condition and limits", "advanced": True}
_LAST = ("onFail", "when", "maxViolations", "maxViolationPct", "id")


def _own_fields_first(schema: dict[str, Any]) -> None:
    """Order the fields in the schema, and thus in forms: first the fields of the rule, then those that all rules
    have."""
    fields = schema["properties"]
    schema["properties"] = {name: fields[name] for name in sorted(fields, key=lambda n: (n in _LAST, n != "field"))}


class RowRule(Spec):
    """The base of all row rules. Without `id`, `rule_id` derives one from the content."""

    model_config = ConfigDict(json_schema_extra=_own_fields_first)

    field: str | None = Field(None, title="Column", description="The column that is reported as failing.")
    on_fail: RowOnFail = Field(
        title="On fail",
        description="What happens to a row that fails.",
        json_schema_extra={"labels": {**ON_FAIL_LABELS}},
    )
    when: Text | None = Field(
        None,
        title="Condition",
        description="A Spark SQL condition. The rule applies only to rows for which it is true.",
        examples=["country = 'US'"],
        json_schema_extra=LIMITS,
    )
    max_violations: Annotated[int, Field(ge=0)] | None = Field(
        None,
        title="Fail if violations exceed",
        description="If more rows than this fail, nothing is loaded.",
        json_schema_extra=LIMITS | {"unit": "rows"},
    )
    max_violation_pct: Percent | None = Field(
        None,
        title="Fail if violations exceed",
        description="If more than this percentage of the rows that the rule applies to fails, nothing is loaded.",
        json_schema_extra=LIMITS | {"unit": "%"},
    )
    id: Id | None = Field(
        None,
        title="ID",
        description="Names the rule in its node. Without it, Flow makes an ID from the content of the rule.",
        json_schema_extra=LIMITS,
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.field == "":
            yield from check_identifier(self.field, at / "field", "column")
        if self.when is not None:
            yield from check_expression(self.when, at / "when")
        for value, name in ((self.max_violations, "maxViolations"), (self.max_violation_pct, "maxViolationPct")):
            if value is not None and self.on_fail == "abort":
                yield diagnose("rule.limit_unused", at / name, f"With onFail abort, {name} has no effect.")

    def reads(self, at: Pointer) -> Iterator[tuple[str, Pointer]]:
        """Yield the columns that the rule reads, each with the position of its name."""
        if self.field is not None:
            yield self.field, at / "field"
        if self.when is not None:
            yield from expression_reads(self.when, at / "when")

    @property
    def has_limit(self) -> bool:
        return self.max_violations is not None or self.max_violation_pct is not None

    def excess(self, violations: int, evaluated: int) -> str | None:
        """Describe how the number of violations exceeds the rule's limit; None if it does not."""
        if self.max_violations is not None and violations > self.max_violations:
            return f"more than {self.max_violations:,}"
        percent = self.max_violation_pct
        if percent is not None and violations * 100 > Fraction(str(percent)) * evaluated:
            return f"more than {percent} % of {evaluated:,}"
        return None


class FieldRule(RowRule):
    """A rule on the values of one column."""

    field: str = Field(title="Column", description="The column to check.")


def rule_id(rule: RowRule) -> str:
    """Return the rule's own id, else a short hash of its content, which does not depend on other rules."""
    if rule.id is not None:
        return rule.id
    content = rule.model_dump(mode="json", by_alias=True, exclude_none=True)
    return "r-" + hashlib.sha256(rfc8785.dumps(content)).hexdigest()[:12]
