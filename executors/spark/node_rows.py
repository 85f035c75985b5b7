"""Evaluates the rows of one node of a path as a load does, and returns them instead of staging them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.charsets import Charset
from executors.formats.batches import take_trailers
from executors.formats.closing import closed_after
from executors.model import PassResult, TaskCount
from executors.node_preview.model import LONGEST_VALUE
from executors.spark.compiled import Compiled, Working
from executors.spark.one_pass import PassPlan, Sink, collect_pass, tasks_for
from executors.spark.session import RunSession
from executors.spark.sink import Evaluation, decode_counts, encode_counts, task_number
from executors.spark.steps import Fill, Program, Step, Trim, flags_of, run_programs
from executors.validation import BAD, ELEMENT, FILE, RAW, RECORD, Evaluated, Tally
from executors.validation.rows import row_texts

ROWS = "file int, record long, row string, counts string"
"""The schema of the result: a row of the node, or the counts of a task."""
MOST_BYTES = 1_000_000
"""The largest size of the rows that all tasks return."""

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A row of the source before and after the node, and its results in the pass. `element` is the position of the
    array element from which the row was made. `filtered_at` is the node that filtered the row; `entries` are (node,
    rule id, field, message, severity). If the node is a target, `staged` contains the values that would be loaded."""

    file: int
    record: int
    element: int | None
    before: Values
    after: Values
    staged: Values | None = None
    filtered_at: str | None = None
    entries: tuple[tuple[str, str, str | None, str, str], ...] = ()
    unreadable: tuple[str, ...] = ()
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class NodeRows:
    rows: tuple[NodeRow, ...]
    result: PassResult


def node_rows(session: RunSession, plan: PassPlan, *, failing_only: bool, most: int) -> NodeRows:
    """Evaluate all rows of the plan's reading, and return at most `most` of each task, or fewer if they are large. If
    `failing_only` is true, the rows violate a rule of the observed node; at most `most` rejected rows and `most` rows
    with a warning are returned. Long values are truncated. Raises the errors of `collect_pass`."""
    each = MOST_BYTES // min(len(plan.reading.parts) or 1, tasks_for(plan.reading))

    def make_task(evaluation: Evaluation, compiled: Compiled) -> NodeRowsTask:
        return NodeRowsTask(evaluation, _Looks.of(compiled), failing_only, most, each)

    found = collect_pass(session, plan, Sink(make_task, ROWS))
    looks, staged = _Looks.of(plan.compiled), [column.name for column in plan.stage_columns]
    rows = [_decode(row, looks, staged) for row in found if row["row"]]
    counts: list[TaskCount] = [decode_counts(row["counts"]) for row in found if row["counts"]]
    return NodeRows(tuple(sorted(rows, key=lambda row: (row.file, row.record))), PassResult(tuple(counts)))


def _decode(row: Mapping[str, Any], looks: _Looks, staged: Sequence[str]) -> NodeRow:
    values = json.loads(row["row"])
    names = {"before": looks.before.columns, "after": looks.after.columns, "staged": staged}
    for side, columns in names.items():
        if values[side] is not None:
            values[side] = dict(zip(columns, values[side], strict=True))
    entries, unreadable = tuple(map(tuple, values.pop("entries"))), tuple(values.pop("unreadable"))
    return NodeRow(row["file"], row["record"], values.pop("element"), **values, entries=entries, unreadable=unreadable)


@dataclass(frozen=True, slots=True)
class _Look:
    """Working columns at one position of the path: their frame columns, and the flags that are true where a value does
    not have its type, after the programs have run."""

    columns: Mapping[str, str]
    programs: tuple[Program, ...]
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, working: Mapping[str, Working], prefix: str) -> _Look:
        columns, programs, flags = {}, [], {}
        for index, (name, column) in enumerate(working.items()):
            out = f"_flow_{prefix}_{index}"
            steps = tuple(_with_own_flags(step, f"{out}_{number}") for number, step in enumerate(column.steps))
            columns[name] = out if steps else column.base
            flags[name] = tuple(flags_of(steps))
            programs += [Program(column.base, steps, out)] if steps else []
        return cls(columns, tuple(programs), flags)


def _with_own_flags(step: Step, name: str) -> Step:
    """Return the step with new names of its flags, because the rows may already have columns with the old names."""
    if isinstance(step, Trim | Fill):
        return step
    return step.with_flags(tuple(f"{name}_{i}" for i in range(len(step.flags))))


@dataclass(frozen=True, slots=True)
class _Looks:
    node: str
    before: _Look
    after: _Look

    @classmethod
    def of(cls, compiled: Compiled) -> _Looks:
        if (seen := compiled.observed) is None:
            raise LookupError("the path is compiled without a node to look at")
        return cls(seen.node, _Look.of(seen.before, "before"), _Look.of(seen.after, "after"))


@dataclass(slots=True)
class _Left:
    """The limits that a task has not used yet: rows with at most a warning, other rows, and bytes."""

    warned: int
    rejected: int
    bytes: int

    @property
    def any(self) -> bool:
        return self.bytes > 0 and (self.warned > 0 or self.rejected > 0)

    def take(self, severities: set[str]) -> bool:
        """Count a row. Returns whether it is within the limit."""
        if severities <= {"warn"}:
            self.warned -= 1
            return self.warned >= 0
        self.rejected -= 1
        return self.rejected >= 0

    def fit(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the texts until the bytes are used up."""
        for text in texts:
            self.bytes -= len(text)
            if self.bytes < 0:
                return
            yield text


@dataclass(frozen=True, slots=True)
class NodeRowsTask:
    """Returns rows instead of staging them."""

    evaluation: Evaluation
    looks: _Looks
    failing_only: bool
    most: int
    most_bytes: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, tally, left = task_number(), Tally(), _Left(self.most, self.most, self.most_bytes)
        with closed_after(batches):
            for batch in batches:
                rows, parts = take_trailers(batch)
                tally.add_read(parts)
                evaluated = self.evaluation.evaluate(tally, rows)
                if left.any and rows.num_rows:
                    yield self._look(rows, evaluated, left)
        yield _counts_only(encode_counts(tally.finish(task)))

    def _look(self, rows: pa.RecordBatch, evaluated: Evaluated, left: _Left) -> pa.RecordBatch:
        entries, places = _entries_of(evaluated), _places_of(rows)
        severities = [{e[4] for e in entries.get(place, ()) if e[0] == self.looks.node} for place in places]
        wanted = [i for i, found in enumerate(severities) if (found or not self.failing_only) and left.take(found)]
        chosen, staged = rows.take(pa.array(wanted, pa.int64())), self._staged(rows, evaluated, set(wanted))
        texts = (
            json.dumps({**values, "entries": entries.get(places[index], ()), "staged": staged.get(index)})
            for index, values in zip(wanted, self._values(chosen), strict=True)
        )
        given = list(left.fit(texts))
        return pa.RecordBatch.from_pydict(
            {
                "file": chosen.column(FILE).slice(0, len(given)),
                "record": chosen.column(RECORD).slice(0, len(given)),
                "row": pa.array(given, pa.string()),
                "counts": pa.nulls(len(given), pa.string()),
            }
        )

    def _values(self, rows: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        charset = self.evaluation.plan.charset
        shown = run_programs(rows, (*self.looks.before.programs, *self.looks.after.programs))
        elements = rows.column(ELEMENT).to_pylist() if self.evaluation.plan.exploded else [None] * rows.num_rows
        for element, before, after, filtered_at, unreadable, raw in zip(
            elements,
            _cells(shown, self.looks.before.columns, charset),
            _cells(shown, self.looks.after.columns, charset),
            _filtered_at(rows, self.evaluation.keeps),
            _unreadable(shown, self.looks.after.flags),
            map(_cut, rows.column(RAW).to_pylist()),
            strict=True,
        ):
            yield {
                "element": element,
                "before": before,
                "after": after,
                "filtered_at": filtered_at,
                "unreadable": unreadable,
                "raw": raw,
            }

    def _staged(self, rows: pa.RecordBatch, evaluated: Evaluated, wanted: set[int]) -> dict[int, list[Any]]:
        """The values that a target gets of the rows at these places of the batch, if it is the observed node."""
        plan, keeps = self.evaluation.plan, self.evaluation.keeps
        if self.looks.node != plan.target or not wanted:
            return {}
        kept = pc.indices_nonzero(rows.column(keeps[-1][1])) if keeps else pa.array(np.arange(rows.num_rows))
        places = kept.filter(pa.array(evaluated.alive)).to_pylist()
        chosen = evaluated.good.filter(pa.array([place in wanted for place in places], pa.bool_()))
        columns = {column.name: column.name for column in plan.stage_columns}
        cells = _cells(chosen, columns, plan.charset)
        return dict(zip((place for place in places if place in wanted), cells, strict=True))


def _places_of(rows: pa.RecordBatch) -> list[tuple[int, int]]:
    """Return file and record of each row."""
    return list(zip(rows.column(FILE).to_pylist(), rows.column(RECORD).to_pylist(), strict=True))


def _cells(batch: pa.RecordBatch, columns: Mapping[str, str], charset: Charset) -> list[list[Any]]:
    """Return the values of each row in the order of the columns."""
    rows = (json.loads(text).values() for text in row_texts(batch, columns, charset))
    # The element after the columns lists the columns whose values are escaped.
    return [list(map(_cut, islice(values, len(columns)))) for values in rows]


def _cut(value: Any) -> Any:
    """Truncate a long text and append its length, so that different texts rarely look the same."""
    is_long = isinstance(value, str) and len(value) > LONGEST_VALUE
    return f"{value[:LONGEST_VALUE]}… ({len(value):,} characters)" if is_long else value


def _entries_of(evaluated: Evaluated) -> dict[tuple[int, int], list[tuple[Any, ...]]]:
    """Return the problems of each row by its position."""
    found: dict[tuple[int, int], list[tuple[Any, ...]]] = defaultdict(list)
    names = ("node", "rule_id", "field", "message", "severity")
    for entry in evaluated.rejects.to_pylist():
        found[entry["file"], entry["record"]].append(tuple(entry[name] for name in names))
    return found


def _filtered_at(rows: pa.RecordBatch, keeps: Sequence[tuple[str, str]]) -> list[str | None]:
    """Return for each row the first node that filters it."""
    found: list[str | None] = [None] * rows.num_rows
    for node, column in reversed(keeps):
        for index in pc.indices_nonzero(pc.invert(rows.column(column))).to_pylist():
            found[index] = node
    return found


def _unreadable(rows: pa.RecordBatch, flags: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return for each row the columns whose value does not have their type."""
    found: list[list[str]] = [[] for _ in range(rows.num_rows)]
    readable = pc.is_null(rows.column(BAD)).to_numpy(zero_copy_only=False)
    for name, columns in flags.items():
        for column in columns:
            flagged = pc.fill_null(rows.column(column), False).to_numpy(zero_copy_only=False)
            for index in np.flatnonzero(flagged & readable).tolist():
                found[index].append(name)
    return found


def _counts_only(counts: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "file": pa.array([-1], pa.int32()),
            "record": pa.array([-1], pa.int64()),
            "row": pa.nulls(1, pa.string()),
            "counts": counts.column("counts"),
        }
    )
