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
from executors.validation import BAD, FILE, RAW, RECORD, Evaluated, ValidationPlan, validate
from ir.types import ColumnType

Column = Sequence[Any] | pa.Array


class Bench:
    """Validates batches whose frame columns have the names of the working columns."""

    def __init__(self) -> None:
        self.plan = ValidationPlan(
            run_id="run-1",
            source="src",
            target="load",
            files={0: ("aa" * 32, "in/a.csv"), 1: ("bb" * 32, "in/b.csv")},
            row_columns={},
            working={},
            stage_columns=(),
        )

    def stage(self, name: str, kind: str = "string", **how: Any) -> Bench:
        """Add a stage column, and the working column with its name."""
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

    def validate(self, **columns: Column) -> Evaluated:
        """Validate rows. By default all rows are from file 0, with the records 1, 2, 3 …"""
        size = len(next(iter(columns.values())))
        hidden = {
            FILE: pa.array([0] * size, pa.int32()),
            RECORD: pa.array(range(1, size + 1), pa.int64()),
            BAD: pa.nulls(size, pa.string()),
            RAW: pa.nulls(size, pa.string()),
        }
        arrays = {name: v if isinstance(v, pa.Array) else pa.array(v) for name, v in {**hidden, **columns}.items()}
        evaluated = validate(pa.RecordBatch.from_pydict(arrays), self.plan)
        assert evaluated.rejects.schema.equals(REJECT_SCHEMA)
        assert evaluated.arrived == evaluated.staged + evaluated.rejected == size
        assert evaluated.staged == evaluated.good.num_rows
        return evaluated


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def entries() -> Callable[[Evaluated], list[tuple[Any, ...]]]:
    """Return record, rule, severity and disposition of each reject entry."""
    return lambda evaluated: [
        (row["record"], row["rule_id"], row["severity"], row["disposition"]) for row in evaluated.rejects.to_pylist()
    ]


@pytest.fixture
def rows() -> Callable[[Evaluated], list[Any]]:
    """Return the row of each reject entry."""
    return lambda evaluated: [json.loads(row["row"]) for row in evaluated.rejects.to_pylist()]
