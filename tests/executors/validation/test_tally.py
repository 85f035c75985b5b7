"""The counts of a task, added up over its batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from executors.model import RecordRef
from executors.validation import RECORD, Tally
from ir.rules import NotNull


def test_counts_add_up_over_batches(bench: Any) -> None:
    bench.stage("a").stage("n", "integer").rule(NotNull(type="notNull", field="a", on_fail="abort"))
    bench.vary(on_type_mismatch="null")
    tally = Tally()
    for first in (101, 1):
        records = pa.array(range(first, first + 50), pa.int64())
        tally.add(bench.validate(a=["x", *[None] * 49], n=["?", *["1"] * 49], **{RECORD: records}))
    counts = tally.finish(7)
    assert (counts.task, counts.rows_arrived, counts.rows_staged, counts.rows_rejected, counts.rows_warned) == (
        7,
        100,
        2,
        98,
        2,
    )
    assert counts.dropped_at == {"check": 98}
    assert [(rule.rule_id, rule.violations, rule.evaluated) for rule in counts.rules] == [
        ("rule", 98, 100),
        ("type:n", 2, None),
    ]
    assert counts.rules[0].first == tuple(RecordRef(0, record) for record in range(2, 22))


def test_no_batch_no_counts() -> None:
    counts = Tally().finish(7)
    assert (counts.rows_arrived, counts.rows_staged, counts.rules) == (0, 0, ())
