"""The source columns of each target column and the steps between them, as far as the document determines them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from ir.diagnostics import shown
from ir.expressions import parse_expression
from ir.ops import (
    Cast,
    Deduplicate,
    Derive,
    Drop,
    FillNull,
    Filter,
    Op,
    Rename,
    Select,
    SqlQuery,
    Trim,
)
from ir.pipeline import Path, Pipeline


@dataclass(frozen=True, slots=True)
class Trace:
    """Where a value comes from: the source's columns, and in words what was done on the way, in order."""

    sources: tuple[str, ...]
    steps: tuple[str, ...] = ()

    def then(self, step: str) -> Trace:
        return replace(self, steps=(*self.steps, step))


@dataclass(frozen=True, slots=True)
class Traces:
    """The columns that are known, in order. Others pass as they are where `has_others`, less those that are `gone`.

    `is_opaque` says that a query stands on the way, behind which nothing is known.
    """

    known: Mapping[str, Trace] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    has_others: bool = True
    is_opaque: bool = False

    def of(self, name: str) -> Trace:
        """A column's trace. One that nothing has named yet is a source's own; one that is not there has none."""
        is_source = self.has_others and name not in self.gone and not self.is_opaque
        return self.known.get(name) or Trace((name,) if is_source else ())

    def stepped(self, names: Iterable[str], step: Callable[[str], str]) -> Traces:
        return replace(self, known={**self.known, **{name: self.of(name).then(step(name)) for name in names}})


@dataclass(frozen=True, slots=True)
class Lineage:
    """The columns of one target."""

    source: str
    target: str
    columns: Mapping[str, Trace]
    has_others: bool
    is_opaque: bool

    @property
    def sources(self) -> tuple[str, ...]:
        """The source's columns that something is made of, in the order of first use."""
        return _union(trace.sources for trace in self.columns.values())


def lineages_of(pipeline: Pipeline) -> list[Lineage]:
    return [_lineage(pipeline.path_to(target)) for target in pipeline.targets()]


def _lineage(path: Path) -> Lineage:
    given = Traces({column.name: Trace((column.name,)) for column in path.source.columns or ()})
    ops = [op for transform in path.transforms for op in transform.ops]
    found = reduce(lambda traces, op: FLOWS[type(op)](traces, op), ops, given)
    return Lineage(path.source.id, path.target.id, found.known, found.has_others, found.is_opaque)


def _rename(traces: Traces, op: Rename) -> Traces:
    """All at once, so that names can be exchanged."""
    moved = {new: traces.of(old).then(f"renamed from {old}") for old, new in op.columns.items()}
    renamed = {op.columns.get(name, name): moved.get(op.columns.get(name, name), t) for name, t in traces.known.items()}
    gone = (traces.gone | op.columns.keys()) - moved.keys()
    return replace(traces, known={**renamed, **moved}, gone=gone)


def _cast(traces: Traces, op: Cast) -> Traces:
    types = {name: to if isinstance(to, str) else to.type for name, to in op.columns.items()}
    return traces.stepped(op.columns, lambda name: f"cast to {types[name]}")


def _select(traces: Traces, op: Select) -> Traces:
    return replace(traces, known={name: traces.of(name) for name in op.columns}, has_others=False)


def _drop(traces: Traces, op: Drop) -> Traces:
    remaining = {name: trace for name, trace in traces.known.items() if name not in op.columns}
    return replace(traces, known=remaining, gone=traces.gone | frozenset(op.columns))


def _derive(traces: Traces, op: Derive) -> Traces:
    """Every expression sees the columns before this op."""
    made = {}
    for name, text in op.columns.items():
        read = [traces.of(column) for column in parse_expression(text).columns]
        before = _union(trace.steps for trace in read)
        made[name] = Trace(_union(trace.sources for trace in read), (*before, f"= {text}"))
    return replace(traces, known={**traces.known, **made}, gone=traces.gone - made.keys())


def _fill_null(traces: Traces, op: FillNull) -> Traces:
    return traces.stepped(op.columns, lambda name: f"NULL becomes {shown(op.columns[name])}")


def _trim(traces: Traces, op: Trim) -> Traces:
    return traces.stepped(op.columns, lambda name: "trimmed")


def _rows_only(traces: Traces, op: Op) -> Traces:
    """Leaves rows out, and changes no value."""
    return traces


def _query(traces: Traces, op: SqlQuery) -> Traces:
    return Traces(is_opaque=True)


FLOWS: dict[type[Op], Callable[..., Traces]] = {
    Rename: _rename,
    Cast: _cast,
    Select: _select,
    Drop: _drop,
    Derive: _derive,
    Filter: _rows_only,
    FillNull: _fill_null,
    Trim: _trim,
    Deduplicate: _rows_only,
    SqlQuery: _query,
}
"""What each op does to the traces of columns."""


def _union(parts: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name in part))
