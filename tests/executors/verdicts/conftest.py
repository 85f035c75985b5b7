"""A plan over a small batch, varied by each test."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from executors.model import RulePlan, StageColumn
from executors.rejects import REJECT_SCHEMA
from executors.verdicts import BAD, FILE, RAW, RECORD, Judged, JudgePlan, judge
from ir.types import ColumnType

Column = Sequence[Any] | pa.Array


class Bench:
    """Judges batches whose frame columns bear the names of the working columns."""

    def __init__(self) -> None:
        self.plan = JudgePlan(
            run_id="run-1",
            source="src",
            target="load",
            files={0: ("aa" * 32, "in/a.csv"), 1: ("bb" * 32, "in/b.csv")},
            row_columns={},
            working={},
            stage_columns=(),
        )

    def stage(self, name: str, kind: str = "string", **how: Any) -> Bench:
        """Add a stage column, and the working column of its name."""
        return self.vary(
            stage_columns=(*self.plan.stage_columns, StageColumn(name, ColumnType.parse(kind), **how)),
            working={**self.plan.working, name: name},
            row_columns={**self.plan.row_columns, name: name},
        )

    def rule(self, rule: Any, rule_id: str = "rule", node: str = "check") -> Bench:
        return self.vary(rules=(*self.plan.rules, RulePlan(node, rule_id, rule)))

    def vary(self, **changes: Any) -> Bench:
        self.plan = replace(self.plan, **changes)
        return self

    def judge(self, **columns: Column) -> Judged:
        """All rows come from file 0, records 1, 2, 3 … unless hidden columns say otherwise."""
        size = len(next(iter(columns.values())))
        hidden = {
            FILE: pa.array([0] * size, pa.int32()),
            RECORD: pa.array(range(1, size + 1), pa.int64()),
            BAD: pa.nulls(size, pa.string()),
            RAW: pa.nulls(size, pa.string()),
        }
        arrays = {name: v if isinstance(v, pa.Array) else pa.array(v) for name, v in {**hidden, **columns}.items()}
        judged = judge(pa.RecordBatch.from_pydict(arrays), self.plan)
        assert judged.rejects.schema.equals(REJECT_SCHEMA)
        assert judged.arrived == judged.staged + judged.rejected == size
        assert judged.staged == judged.good.num_rows
        return judged


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def entries() -> Callable[[Judged], list[tuple[Any, ...]]]:
    """Record, rule, severity and disposition of each reject entry."""
    return lambda judged: [
        (row["record"], row["rule_id"], row["severity"], row["disposition"]) for row in judged.rejects.to_pylist()
    ]


@pytest.fixture
def rows() -> Callable[[Judged], list[Any]]:
    """The row that each reject entry holds."""
    return lambda judged: [json.loads(row["row"]) for row in judged.rejects.to_pylist()]
