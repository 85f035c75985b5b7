"""Reject entries: one for each rule that a row violates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.rejects import GROUP, REJECT_SCHEMA, row_id
from executors.validation.findings import Finding, Findings
from executors.validation.plan import BAD, FILE, RAW, RECORD, ValidationPlan
from executors.validation.records import Records, one_of_each_record
from executors.validation.rows import group_texts, raw_text, row_texts

RowIndexes = np.ndarray[Any, np.dtype[np.intp]]

# PyArrow imports pandas when it builds arrays from Python values, but not for these.
NO_REJECTS = pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in REJECT_SCHEMA], schema=REJECT_SCHEMA)


def reject_entries(batch: pa.RecordBatch, plan: ValidationPlan, findings: Findings) -> pa.RecordBatch:
    """Return the reject entries of a batch in the order of its rows; entries of one row are adjacent."""
    violated = findings.violated()
    if not violated:
        return NO_REJECTS
    if findings.records is not None:
        violated = one_of_each_record(findings.records, batch, violated)
    rows = np.flatnonzero(np.logical_or.reduce([finding.mask for finding in violated]))
    guilty = batch.take(pa.array(rows))
    masks = np.stack([finding.mask[rows] for finding in violated])
    row_at, finding_at = np.nonzero(masks.T)
    at, by = pa.array(row_at), pa.array(finding_at)

    def of_row(values: list[str] | pa.Array) -> pa.Array:
        return (values if isinstance(values, pa.Array) else pa.array(values, pa.string())).take(at)

    def of_finding(values: list[str | None]) -> pa.Array:
        return pa.array(values, pa.string()).take(by)

    shown = plan.charset.shown
    columns = {
        "file": of_row(guilty.column(FILE)),
        "record": of_row(guilty.column(RECORD)),
        "row_id": of_row(_row_ids(guilty, plan)),
        "node": of_finding([f.node for f in violated]),
        "rule_id": of_finding([shown(f.rule_id) for f in violated]),
        "field": of_finding([f.field and shown(f.field) for f in violated]),
        "message": _messages(guilty, plan, violated, rows, at, by),
        "severity": of_finding([f.severity for f in violated]),
        "disposition": of_row(["loaded" if alive else "dropped" for alive in findings.alive[rows]]),
        "row": of_row(_row_jsons(_read(guilty, rows, findings.records), plan)),
        "row_from": of_row(_forms(guilty, plan)),
        "source_file": of_row([shown(plan.files[file][1]) for file in guilty.column(FILE).to_pylist()]),
        "source_node": of_row([plan.sources.get(file) or plan.source for file in guilty.column(FILE).to_pylist()]),
    }
    return pa.RecordBatch.from_pydict(columns, schema=REJECT_SCHEMA)


def _messages(
    guilty: pa.RecordBatch, plan: ValidationPlan, violated: list[Finding], rows: RowIndexes, at: pa.Array, by: pa.Array
) -> pa.Array:
    """Return the message of each entry: the row's own, else that of the rule, else why the record cannot be read."""
    messages = pc.coalesce(pa.array([f.message for f in violated], pa.string()).take(by), guilty.column(BAD).take(at))
    if any(f.own for f in violated):
        positions = zip(rows[at.to_numpy()].tolist(), by.to_pylist(), messages.to_pylist(), strict=True)
        messages = pa.array(
            [violated[finding].own.get(row, message) for row, finding, message in positions], pa.string()
        )
    if plan.charset.lacking(messages):
        messages = pa.array([plan.charset.shown(message) for message in messages.to_pylist()], pa.string())
    return messages


def _row_ids(guilty: pa.RecordBatch, plan: ValidationPlan) -> list[str]:
    positions = zip(guilty.column(FILE).to_pylist(), guilty.column(RECORD).to_pylist(), strict=True)
    heads = plan.sources if plan.is_united else {}
    return [
        row_id(plan.run_id, plan.target, plan.files[file][0], record, heads.get(file, "")) for file, record in positions
    ]


def _forms(guilty: pa.RecordBatch, plan: ValidationPlan) -> list[str]:
    if plan.groups is None:
        return [plan.row_from] * guilty.num_rows
    return [GROUP if is_group else plan.row_from for is_group in guilty.column(plan.groups.rows).is_valid().to_pylist()]


def _read(guilty: pa.RecordBatch, rows: RowIndexes, records: Records | None) -> pa.RecordBatch:
    """Return the rows as they were read. Of exploded rows, only the first row of a record has all its values."""
    return guilty if records is None else records.rows.take(pa.array(records.of[rows]))


def _row_jsons(guilty: pa.RecordBatch, plan: ValidationPlan) -> list[str]:
    texts = _source_jsons(guilty, plan)
    if plan.groups is None:
        return texts
    groups = group_texts(guilty, plan.groups, plan.files, plan.charset)
    return [group or text for group, text in zip(groups, texts, strict=True)]


def _source_jsons(guilty: pa.RecordBatch, plan: ValidationPlan) -> list[str]:
    texts = row_texts(guilty, plan.row_columns, plan.charset)
    if guilty.column(BAD).null_count == guilty.num_rows:
        return texts
    bad = zip(guilty.column(BAD).to_pylist(), guilty.column(RAW).to_pylist(), texts, strict=True)
    return [text if reason is None else raw_text(raw, plan.charset) for reason, raw, text in bad]
