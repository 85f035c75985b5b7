"""Validates one batch, node by node along its path.

The order is: records that the format could not read, flags of ops (failed casts, boundary rows), the rules of each
validate node, and the target's columns. A row that one node drops never reaches the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.model import RecordRef, RuleCount, RulePlan
from executors.rules import row_rule_mask, rule_message
from executors.validation.entries import reject_entries
from executors.validation.findings import Finding, Findings, Severity
from executors.validation.plan import (
    BAD,
    FILE,
    RECORD,
    CastFlag,
    CustomFlag,
    Evaluated,
    NoBranchFlag,
    OpFlag,
    RejectFlag,
    ValidationPlan,
)
from executors.validation.records import Records
from executors.validation.tally import MOST_REFS
from executors.validation.target import cast_severity, validate_column


def validate(batch: pa.RecordBatch, plan: ValidationPlan, records: Records | None = None) -> Evaluated:
    """Separate the rows of a batch that may be staged from those that are rejected. `records` are the
    records of exploded rows. Bad values do not raise errors."""
    findings = _validate_up_to_rules(batch, plan, records)
    staged = [
        validate_column(findings, plan, column, batch.column(plan.working[column.name]))
        for column in plan.stage_columns
    ]
    findings.leave(plan.target)
    good = _good_rows(batch, plan, staged, findings)
    rejected = findings.count(~findings.alive)
    return Evaluated(
        good,
        reject_entries(batch, plan, findings),
        good.num_rows + rejected,
        good.num_rows,
        rejected,
        _count_warned(findings),
        tuple(_rule_counts(batch, findings)),
        findings.alive,
        findings.dropped,
    )


def passes_rules(batch: pa.RecordBatch, plan: ValidationPlan) -> pa.BooleanArray:
    """Return which rows of a batch pass all rules of the plan. Never raises because of the data."""
    return pa.array(_validate_up_to_rules(batch, plan).alive)


def _validate_up_to_rules(batch: pa.RecordBatch, plan: ValidationPlan, records: Records | None = None) -> Findings:
    findings = Findings(np.ones(batch.num_rows, dtype=bool), records)
    _validate_records(findings, batch, plan)
    _validate_flags(findings, batch, plan)
    _validate_rules(findings, batch, plan)
    return findings


def _validate_records(findings: Findings, batch: pa.RecordBatch, plan: ValidationPlan) -> None:
    severity: Severity = "abort" if plan.on_bad_row == "abort" else "skip"
    findings.add(plan.source, "row", "row", None, severity, pc.is_valid(batch.column(BAD)), None)
    findings.leave(plan.source)


def _validate_flags(findings: Findings, batch: pa.RecordBatch, plan: ValidationPlan) -> None:
    for node, flags in groupby(plan.flags, key=lambda flag: flag.node):
        for flag in flags:
            flagged = pc.fill_null(batch.column(flag.column), False)
            severity = _severity(flag, plan)
            rule_id = f"{flag.kind}:{flag.field}" if flag.field else flag.kind
            own = _own_messages(batch, flag, flagged) if isinstance(flag, CustomFlag) else None
            findings.add(node, rule_id, flag.kind, flag.field, severity, flagged, flag.message, own)
        findings.leave(node)


def _own_messages(batch: pa.RecordBatch, flag: CustomFlag, flagged: pa.BooleanArray) -> dict[int, str]:
    rows = pc.indices_nonzero(flagged)
    return dict(zip(rows.to_pylist(), batch.column(flag.messages).take(rows).to_pylist(), strict=True))


def _severity(flag: OpFlag, plan: ValidationPlan) -> Severity:
    if isinstance(flag, CastFlag):
        return cast_severity(plan)
    return "skip" if isinstance(flag, RejectFlag | NoBranchFlag | CustomFlag) else "abort"


def _validate_rules(findings: Findings, batch: pa.RecordBatch, plan: ValidationPlan) -> None:
    emptied = {column.name for column in plan.stage_columns if column.empty_as_null}
    for node, bound in groupby(plan.rules, key=lambda bound: bound.node):
        arrived = findings.count(findings.alive)
        for rule_plan in bound:
            _validate_rule(findings, batch, plan, rule_plan, emptied, arrived)
        findings.leave(node)


def _validate_rule(
    findings: Findings, batch: pa.RecordBatch, plan: ValidationPlan, bound: RulePlan, emptied: set[str], arrived: int
) -> None:
    rule, looked_at, evaluated = bound.rule, findings.alive, arrived
    values = batch.column(bound.value or plan.working[rule.field])
    violations = row_rule_mask(rule, values, empty_is_null=rule.field in emptied, now=plan.now)
    if bound.applies is not None:
        looked_at = looked_at & pc.fill_null(batch.column(bound.applies), False).to_numpy(zero_copy_only=False)
        evaluated = findings.count(looked_at)
    mask = violations.to_numpy(zero_copy_only=False) & looked_at
    findings.add_rule(bound.node, bound.rule_id, rule, mask, evaluated, rule_message(rule))


def _good_rows(
    batch: pa.RecordBatch, plan: ValidationPlan, staged: list[pa.Array], findings: Findings
) -> pa.RecordBatch:
    good = pa.RecordBatch.from_arrays(
        [batch.column(FILE), batch.column(RECORD), *staged], [FILE, RECORD, *(c.name for c in plan.stage_columns)]
    )
    return good if findings.alive.all() else good.filter(pa.array(findings.alive))


def _count_warned(findings: Findings) -> int:
    masks = [finding.mask for finding in findings.violated() if finding.severity == "warn"]
    return findings.count(np.logical_or.reduce(masks) & findings.alive) if masks else 0


def _rule_counts(batch: pa.RecordBatch, findings: Findings) -> Iterable[RuleCount]:
    for f in findings.all.values():
        violations = findings.count(f.mask)
        first = _first_positions(batch, f, findings.records) if violations and f.stops else ()
        yield RuleCount(f.node, f.rule_id, f.type, f.field, f.severity, violations, first, f.message or "", f.evaluated)


def _first_positions(batch: pa.RecordBatch, finding: Finding, records: Records | None) -> tuple[RecordRef, ...]:
    violating = np.flatnonzero(finding.mask) if records is None else records.first(finding.mask)
    rows = batch.select([FILE, RECORD]).take(pa.array(violating))
    first = rows.take(pc.select_k_unstable(rows, MOST_REFS, [(FILE, "ascending"), (RECORD, "ascending")]))
    return tuple(RecordRef(row[FILE], row[RECORD]) for row in first.to_pylist())
