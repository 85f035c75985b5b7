"""The source columns of each target column and the steps between them, as far as the document determines them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TypeVar

from ir.diagnostics import shown
from ir.expressions import parse_expression
from ir.expressions.select import Item
from ir.nodes import Source, Transform
from ir.nodes.branch import Take
from ir.ops import (
    Aggregate,
    Cast,
    Custom,
    Deduplicate,
    Derive,
    Drop,
    Explode,
    FillNull,
    Filter,
    Flatten,
    Join,
    JsonPath,
    Op,
    RegexExtract,
    Rename,
    Select,
    SqlQuery,
    Trim,
    Union,
    Window,
)
from ir.pipeline import Path, Pipeline

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trace:
    """The origin of a value: the columns of the source, and descriptions of the operations on its path, in order.
    `references` are the (node, column) pairs that joins looked up. `of_rows` means that the value depends on other
    rows."""

    sources: tuple[str, ...]
    steps: tuple[str, ...] = ()
    references: tuple[tuple[str, str], ...] = ()
    of_rows: bool = False

    def then(self, step: str) -> Trace:
        return replace(self, steps=(*self.steps, step))


@dataclass(frozen=True, slots=True)
class Traces:
    """The traces of the known columns, in order.

    If `has_others`, other columns pass unchanged, except those in `gone`. `is_opaque` means that a query is on the
    path, after which nothing is known.
    """

    known: Mapping[str, Trace] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    has_others: bool = True
    is_opaque: bool = False

    def of(self, name: str) -> Trace:
        """Return the trace of a column. A column that no operation names is a column of the source; a column that does
        not exist has no trace."""
        is_source = self.has_others and name not in self.gone and not self.is_opaque
        return self.known.get(name) or Trace((name,) if is_source else ())

    def stepped(self, names: Iterable[str], step: Callable[[str], str]) -> Traces:
        return replace(self, known={**self.known, **{name: self.of(name).then(step(name)) for name in names}})

    def added(self, name: str, trace: Trace) -> Traces:
        return replace(self, known={**self.known, name: trace}, gone=self.gone - {name})


@dataclass(frozen=True, slots=True)
class Lineage:
    """The columns of one target, as far as they come from one source."""

    source: str
    target: str
    columns: Mapping[str, Trace]
    has_others: bool
    is_opaque: bool

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the columns of the source from which a column is made, in the order of first use."""
        return _union(trace.sources for trace in self.columns.values())

    @property
    def references(self) -> tuple[tuple[str, str], ...]:
        """Return the columns of references from which a column is made, as (node, column), in the order of first
        use."""
        return _union(trace.references for trace in self.columns.values())


def lineages_of(pipeline: Pipeline) -> list[Lineage]:
    """Return the lineage of each target, several for a target of united rows: one from each source."""
    return [_lineage(path) for target in pipeline.targets() for path in pipeline.paths_to(target)]


def sources_of(path: Path, node: str, column: str) -> tuple[str, ...]:
    """Return the columns of the source from which an output or input column of a node is computed; none if the document
    does not determine them."""
    places = [transform.id for transform in path.transforms]
    before = 0 if node == path.source.id else places.index(node) if node in places else len(places)
    after = before if node == path.source.id else before + 1
    for transforms in (path.transforms[:after], path.transforms[:before]):
        if sources := _trace(path.source, transforms).of(column).sources:
            return sources
    return ()


def columns_of_other_rows(path: Path) -> tuple[str, ...]:
    """Return the columns that arrive at the first rule and whose values depend on other rows."""
    known = _trace(path.source, path.transforms).known
    return tuple(name for name, trace in known.items() if trace.of_rows)


def _trace(source: Source, transforms: Iterable[Transform]) -> Traces:
    given = Traces({column.name: Trace((column.name,)) for column in source.columns or ()})
    ops = [op for transform in transforms for op in transform.ops]
    return reduce(lambda traces, op: FLOWS[type(op)](traces, op), ops, given)


def _lineage(path: Path) -> Lineage:
    found = _trace(path.source, path.transforms)
    return Lineage(path.source.id, path.target.id, found.known, found.has_others, found.is_opaque)


def _rename(traces: Traces, op: Rename) -> Traces:
    """Rename columns simultaneously, so that names can be exchanged."""
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
    """Every expression reads the columns before this op."""
    made = {name: _computed(traces, text) for name, text in op.columns.items()}
    return replace(traces, known={**traces.known, **made}, gone=traces.gone - made.keys())


def _computed(traces: Traces, text: str) -> Trace:
    read = [traces.of(column) for column in parse_expression(text).columns]
    return Trace(
        _union(trace.sources for trace in read),
        (*_union(trace.steps for trace in read), f"= {text}"),
        _union(trace.references for trace in read),
        any(trace.of_rows for trace in read),
    )


def _fill_null(traces: Traces, op: FillNull) -> Traces:
    return traces.stepped(op.columns, lambda name: f"NULL becomes {shown(op.columns[name])}")


def _trim(traces: Traces, op: Trim) -> Traces:
    return traces.stepped(op.columns, lambda name: "trimmed")


def _regex_extract(traces: Traces, op: RegexExtract) -> Traces:
    part = f"group {op.group} of {op.pattern}" if op.group else f"match of {op.pattern}"
    return traces.added(op.as_, traces.of(op.field).then(part))


def _json_path(traces: Traces, op: JsonPath) -> Traces:
    return traces.added(op.as_, traces.of(op.field).then(f"value at {op.path} as {op.type}"))


def _flatten(traces: Traces, op: Flatten) -> Traces:
    before = traces.of(op.field)
    for path, kind in op.columns.items():
        traces = traces.added(op.name_of(path), before.then(f"value at {path} as {kind}"))
    return traces


def _explode(traces: Traces, op: Explode) -> Traces:
    before = traces.of(op.field)
    traces = traces.added(op.as_, before.then(f"each element as {op.type}"))
    return traces if op.index_as is None else traces.added(op.index_as, before.then("place of the element"))


def _rows_only(traces: Traces, op: Op) -> Traces:
    """An op that adds or removes rows and changes no value."""
    return traces


def _join(traces: Traces, op: Join) -> Traces:
    keys = " and ".join(f"{own} = {other}" for own, other in op.on.items())
    step = f"looked up in {op.with_} by {keys}"
    of_rows = any(traces.of(own).of_rows for own in op.on)
    added = {name: Trace((), (step,), ((op.with_, column),), of_rows) for column, name in op.columns.items()}
    return replace(traces, known={**traces.known, **added}, gone=traces.gone - added.keys())


def _window(traces: Traces, op: Window) -> Traces:
    within = ", ".join([*op.partition_by, *(f"{by.column} {by.direction}" for by in op.order_by)])
    before = traces
    for function in op.columns:
        read = before.of(function.column) if function.column is not None else Trace(())
        made = read.then(f"{function.function} by {within}")
        traces = traces.added(function.as_, replace(made, of_rows=True))
    return traces


def _aggregate(traces: Traces, op: Aggregate) -> Traces:
    within = ", ".join(op.by)
    known = {name: traces.of(name) for name in op.by}
    for column in op.columns:
        read = traces.of(column.column) if column.column is not None else Trace(())
        known[column.as_] = read.then(f"= {column.function}({column.column or '*'}) by {within}")
    return replace(traces, known=known, has_others=False)


def _custom(traces: Traces, op: Custom) -> Traces:
    """Every column that the module returns may depend on each of its inputs."""
    read = [traces.of(name) for name in op.fields]
    made = Trace(
        _union(trace.sources for trace in read),
        (*_union(trace.steps for trace in read), f"computed by the module {op.name} from {', '.join(op.fields)}"),
        _union(trace.references for trace in read),
        any(trace.of_rows for trace in read),
    )
    return replace(traces, known={**traces.known, **dict.fromkeys(op.made, made)}, gone=traces.gone - op.made.keys())


def _query(traces: Traces, op: SqlQuery) -> Traces:
    """Every expression reads the columns before this op."""
    query = op.parsed()
    if query is None:
        return Traces(is_opaque=True)
    made = {item.name: _selected(traces, item) for item in query.items}
    if query.has_all:
        return replace(traces, known={**traces.known, **made}, gone=traces.gone - made.keys())
    return replace(traces, known=made, has_others=False)


def _selected(traces: Traces, item: Item) -> Trace:
    if item.column is None:
        return _computed(traces, item.text)
    trace = traces.of(item.column)
    return trace if item.name == item.column else trace.then(f"renamed from {item.column}")


FLOWS: dict[type[Op], Callable[..., Traces]] = {
    Rename: _rename,
    Cast: _cast,
    Select: _select,
    Drop: _drop,
    Derive: _derive,
    Filter: _rows_only,
    FillNull: _fill_null,
    Trim: _trim,
    RegexExtract: _regex_extract,
    JsonPath: _json_path,
    Flatten: _flatten,
    Explode: _explode,
    Deduplicate: _rows_only,
    Window: _window,
    Aggregate: _aggregate,
    Join: _join,
    Union: _rows_only,
    SqlQuery: _query,
    Custom: _custom,
    Take: _rows_only,
}
"""The effect of each op on the traces of columns."""


def _union(parts: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(item for part in parts for item in part))
