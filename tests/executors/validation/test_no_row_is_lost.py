"""For all data, rules and policies, each row is staged or dropped exactly once, and the counts match."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from executors.model import RulePlan, StageColumn
from executors.validation import BAD, FILE, RAW, RECORD, CastFlag, ValidationPlan, validate
from ir.rules import FieldType, MaxLength, NotNull, Range, Regex
from ir.types import ColumnType

texts = st.sampled_from([None, "", "1", "-5", "x", "2024-01-31", "NaN", "1.50", "a\0b", "äöü", "yes"])
rows = st.lists(st.tuples(texts, texts, st.booleans(), st.booleans()), max_size=12)
on_fails = st.sampled_from(["skip", "warn", "abort"])
rules = st.one_of(
    st.builds(NotNull, type=st.just("notNull"), field=st.sampled_from("ab"), onFail=on_fails),
    st.builds(Regex, type=st.just("regex"), field=st.sampled_from("ab"), onFail=on_fails, pattern=st.just("[0-9]")),
    st.builds(Range, type=st.just("range"), field=st.sampled_from("ab"), onFail=on_fails, min=st.just(0)),
    st.builds(MaxLength, type=st.just("maxLength"), field=st.sampled_from("ab"), onFail=on_fails, max=st.just(2)),
    st.builds(FieldType, type=st.just("fieldType"), field=st.just("a"), onFail=on_fails, expected=st.just("date")),
)
kinds = st.sampled_from(["string", "integer", "decimal(5,2)", "date", "boolean", "json", "pg:inet"]).map(
    ColumnType.parse
)
columns = st.builds(
    StageColumn, name=st.just("a"), type=kinds, nullable=st.booleans(), max_length=st.none() | st.just(2)
)


@given(
    rows=rows,
    planned=st.lists(
        st.builds(RulePlan, node=st.sampled_from(["v1", "v2"]), rule_id=st.just(""), rule=rules), max_size=4
    ),
    first=columns,
    second=columns,
    policy=st.sampled_from(["abort", "skip", "null"]),
)
def test_each_row_is_staged_or_dropped_once(
    rows: list[Any], planned: list[RulePlan], first: StageColumn, second: StageColumn, policy: Any
) -> None:
    batch = pa.RecordBatch.from_pydict(
        {
            FILE: pa.array([0] * len(rows), pa.int32()),
            RECORD: pa.array(range(1, len(rows) + 1), pa.int64()),
            BAD: pa.array(["broken" if broken else None for *_, broken, _ in rows], pa.string()),
            RAW: pa.array(["raw" if broken else None for *_, broken, _ in rows], pa.string()),
            "a": pa.array([row[0] for row in rows], pa.string()),
            "b": pa.array([row[1] for row in rows], pa.string()),
            "flag": pa.array([row[3] for row in rows], pa.bool_()),
        }
    )
    plan = ValidationPlan(
        run_id="r",
        source="src",
        target="load",
        files={0: ("aa", "a.csv")},
        row_columns={"a": "a", "b": "b"},
        working={"a": "a", "b": "b"},
        stage_columns=(first, replace(second, name="b")),
        rules=tuple(replace(p, rule_id=str(at)) for at, p in enumerate(sorted(planned, key=lambda p: p.node))),
        flags=(CastFlag("flag", "shape", "b", "integer"),),
        on_type_mismatch=policy,
    )
    evaluated = validate(batch, plan)
    entries = evaluated.rejects.to_pylist()
    staged = evaluated.good.column(RECORD).to_pylist()
    dropped = {entry["record"] for entry in entries if entry["disposition"] == "dropped"}
    loaded = {entry["record"] for entry in entries if entry["disposition"] == "loaded"}
    assert sorted([*staged, *dropped]) == list(range(1, len(rows) + 1))
    assert loaded <= set(staged)
    assert (evaluated.staged, evaluated.rejected, evaluated.warned) == (len(staged), len(dropped), len(loaded))
    assert sum(evaluated.dropped_at.values()) == len(dropped)
    assert sum(count.violations for count in evaluated.rules) == len(entries)
    assert len({(entry["row_id"], entry["node"], entry["rule_id"]) for entry in entries}) == len(entries)
    assert all(entry["severity"] == "warn" for entry in entries if entry["disposition"] == "loaded")
    for column in plan.stage_columns:
        assert column.nullable or evaluated.good.column(column.name).null_count == 0
