"""Compiles the ops of a path. Renames, selections, trims and casts only change the working columns. Expressions become
stages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from executors.errors import InvalidContent, Terminal
from executors.grammar import PLAIN, Written
from executors.model import SourceField
from executors.reading import Reading
from executors.spark.batch_passthrough import UNREADABLE
from executors.spark.compiled import (
    Compiled,
    Derive,
    Expression,
    Groups,
    Observed,
    Reference,
    Routes,
    RuleColumns,
    RunPrograms,
    Stage,
    Working,
    moves_rows,
)
from executors.spark.exploding import ELEMENTS, Explode
from executors.spark.rule_columns import exclude_rejected, may_fail_for_rejected, validate
from executors.spark.session import RunSession
from executors.spark.steps import Convert, Program, Step, flags_of
from executors.spark.transforms import apply_op
from executors.spark.types import is_native
from executors.types import wire_type
from executors.validation import ELEMENT, CastFlag, CustomFlag, OpFlag, RejectFlag, TieFlag
from executors.wasm import CallModule
from ir import ops
from ir.connectors import CONNECTORS, config_of
from ir.connectors.base import SourceConfig
from ir.pipeline import Path
from ir.types import STRING, ColumnType


def compile_path(
    session: RunSession,
    path: Path,
    fields: Sequence[SourceField],
    masked_by: Collection[str] = (),
    *,
    excludes_rejected: bool = False,
    observe: str | None = None,
    references: Mapping[str, Reading] | None = None,
    prefix: str = "",
    united: Mapping[str, ColumnType] | None = None,
) -> Compiled:
    """Compile all ops of a path. Spark analyses the types of expressions; no data is read.

    `masked_by` are flags of ops that reject their rows: after these ops, no expression is evaluated for such a row,
    whatever columns the expression reads. If `excludes_rejected` is true, no expression is evaluated for rows that
    rules of an earlier node reject. `observe` is the node whose rows a preview shows; it has no other effect.
    `references` are the readings in which joins look rows up, by source ID. `prefix` begins the names of frame columns.
    `united` are the columns that the rows must have where they meet those of another path.

    Raises Terminal naming node and op: `union.column_missing`, `union.column_type`, `source.column_missing`,
    `column.unknown`, `column.repeated`, `column.none_left`, `expression.invalid`, `expression.type`,
    `filter.not_boolean`, `rule.not_boolean`, `fillNull.type`, `trim.type`, `column.not_json`, and the errors of
    `check_prepared`.
    """
    observes = observe is not None
    compiler = Compiler(session, path, fields, frozenset(masked_by), references or {}, prefix, repeats_all=observes)
    compiler.united = united
    before, after = {path.source.id: compiler.given()}, {path.source.id: dict(compiler.working)}
    for transform in path.transforms:
        before[transform.id] = dict(compiler.working)
        for number, op in enumerate(transform.ops, start=1):
            compiler.enter(transform.id, f"{op.op} (op {number})")
            apply_op(compiler, op)
        after[transform.id] = dict(compiler.working)
    for index, node in enumerate(path.validates):
        if (excludes_rejected or compiler.moves_rows) and may_fail_for_rejected(path, index):
            exclude_rejected(compiler)
        for number, rule in enumerate(node.row_level, start=1):
            compiler.enter(node.id, f"{rule.type} (rule {number})")
            validate(compiler, rule)
    compiled = compiler.finish()
    if observe is None:
        return compiled
    observed = Observed(observe, before.get(observe, compiled.working), after.get(observe, compiled.working))
    return replace(compiled, observed=observed)


def mask_rejected(session: RunSession, path: Path, reading: Reading, compiled: Compiled) -> Compiled | None:
    """Return the path compiled so that no expression is evaluated for a row that a cast or a rule of an earlier node
    rejects; None if no row is rejected. The result decodes more columns than expressions need and validates rules
    twice, so use it only after an expression failed."""
    rejecting = (RejectFlag, CustomFlag)
    kinds = rejecting if path.target.on_type_mismatch == "null" else (CastFlag, *rejecting)
    tried = {flag.column for flag in compiled.sink_flags() if isinstance(flag, kinds)}
    if not tried and not any(may_fail_for_rejected(path, index) for index in range(len(path.validates))):
        return None
    observe = compiled.observed.node if compiled.observed else None
    return compile_path(
        session,
        path,
        reading.fields,
        tried,
        excludes_rejected=True,
        observe=observe,
        references=reading.references,
        united=compiled.united,
    )


class Compiler:
    """The state between two ops: the working columns over frame columns, and the stages so far."""

    def __init__(
        self,
        session: RunSession,
        path: Path,
        fields: Sequence[SourceField],
        masked_by: frozenset[str],
        references: Mapping[str, Reading],
        prefix: str,
        *,
        repeats_all: bool,
    ) -> None:
        self._path, self._references, self._prefix = path, references, prefix
        self.session, self.masked_by = session, masked_by
        self.empty_as_null = path.target.empty_as_null
        self.keeps_order = CONNECTORS[path.source.connector].keeps_order
        # If bad values become NULL, conditions read NULL. Otherwise no filter removes their rows before validation.
        self.retains_bad = path.target.on_type_mismatch != "null"
        self._ends_on_bad_value = path.target.on_type_mismatch == "abort"
        self._ends_on_bad_row = config_of(path.source, SourceConfig).ends_on_bad_row
        self.node, self.location = path.source.id, "columns"
        self.source = tuple((f"{prefix}s{index}", field) for index, field in enumerate(fields))
        self.frame = {column: field.type for column, field in self.source}
        self.working = {field.name: Working(column, field.type) for column, field in self.source}
        self.read: list[Program | Explode] = []
        self.stages: list[Stage] = []
        self.flags: list[OpFlag] = []
        self._rejecting: set[str] = set()
        self.expressions: list[Expression] = []
        self.needed: dict[str, None] = {}
        self.filter_column: str | None = None
        self.valid_column: str | None = None
        self.filter_columns: dict[str, str] = {}
        self.rules: list[RuleColumns] = []
        self.routes: list[Routes] = []
        self.groups: Groups | None = None
        self.united: Mapping[str, ColumnType] | None = None
        self.source_node = path.source.id
        # A preview shows the columns of every row of an exploded record.
        self.repeats_all = repeats_all
        self._read_foreign_types()
        self._declare(path)

    @property
    def moves_rows(self) -> bool:
        """Whether the order of the rows changes. If so, the pass is not run again after an expression failed."""
        return moves_rows(self.stages)

    def given(self) -> dict[str, Working]:
        """Return the columns of the source."""
        return {field.name: Working(column, self.frame[column]) for column, field in self.source}

    def enter(self, node: str, location: str) -> None:
        """Set the op that later errors refer to."""
        self.node, self.location = node, location

    def finish(self) -> Compiled:
        return Compiled(
            self.source,
            tuple(self._once(program) if isinstance(program, Explode) else program for program in self.read),
            tuple(self.stages),
            dict(self.working),
            tuple(self.flags),
            self.frame,
            tuple(self.expressions),
            tuple(self.needed),
            tuple(self.filter_columns.items()),
            tuple(self.rules),
            tuple(self.routes),
            self.groups,
            united=self.united,
        )

    def refuse(self, code: str, message: str, hint: str = "") -> Terminal:
        return Terminal(code, f"{self.location}: {message}", node=self.node, hint=hint)

    # --- columns ----------------------------------------------------------------------------------------------

    def get(self, name: str) -> Working:
        """Return the working column with the name. Raises Terminal `column.unknown`."""
        try:
            return self.working[name]
        except KeyError:
            raise self.refuse(
                "column.unknown",
                f"there is no column {name!r}.",
                f"The columns here are {', '.join(self.working) or 'none: the files may be empty'}.",
            ) from None

    def refuse_existing(self, name: str) -> None:
        """Raise Terminal `column.repeated` if there is a column with the name."""
        if name in self.working:
            raise self.refuse("column.repeated", f"there would be two columns {name!r}.", "Give one another name.")

    def add_step(self, name: str, step: Step, kind: ColumnType) -> None:
        column = self.get(name)
        self.working[name] = replace(column, steps=(*column.steps, step), type=kind)

    def base_of(self, name: str) -> Working:
        """Return the working column as a frame column without steps, from which other columns can start."""
        column = self.get(name)
        if _carried_steps(column)[0]:
            self.need(name)
            column = self.working[name]
        return replace(column, steps=())

    def checked(self, name: str, step: Step) -> Working:
        """Return the working column as a frame column after a step that is always run. The column itself does not
        change."""
        column = self.base_of(name)
        base, flags = self._make(column, (step,), column.type)
        return Working(base, column.type, flags=flags)

    def add_flag(self, make: Callable[[str], OpFlag]) -> str:
        """Add a flag of this node and return its column. A step sets its values."""
        flag = f"_flow_flag_{len(self.flags)}"
        self.flags.append(made := make(flag))
        if isinstance(made, RejectFlag | CustomFlag):
            self._rejecting.add(flag)
        return flag

    def convert(self, name: str, to: ColumnType, written: Written = PLAIN) -> None:
        """Convert a column to a type. The conversion runs when the value is first needed."""
        column = self.get(name)
        if column.type == to and written == PLAIN:
            return
        flag = self.add_flag(lambda column: CastFlag(column, self.node, name, str(to), str(written)))
        self.add_step(name, Convert(to, flag, written, self.empty_as_null), to)

    def _read_foreign_types(self) -> None:
        """Columns of types that Spark does not have, and values that the source returns as text, are text columns that
        are converted when they are needed."""
        for column, field in self.source:
            if field.as_text or field.type.kind == "time":
                self.frame[column] = STRING
                self.working[field.name] = Working(column, STRING)
                self.convert(field.name, field.type)

    def _declare(self, path: Path) -> None:
        for declared in path.source.columns or ():
            if declared.name not in self.working:
                raise InvalidContent(
                    "source.column_missing",
                    f"The source has no column {declared.name!r}.",
                    node=path.source.id,
                    hint=f"Its columns are {', '.join(self.working)}. Remove it from `columns`, or correct the file.",
                )
            self.convert(declared.name, ColumnType.parse(declared.type), Written.of(declared))

    # --- frame columns ----------------------------------------------------------------------------------------

    def need(self, name: str) -> tuple[str, frozenset[str]]:
        """Return a frame column with the typed value (the canonical text for types that Spark does not have), and the
        flags that the value depends on."""
        column = self.get(name)
        steps, back = _carried_steps(column)
        base, flags = self._materialise(column, steps, column.type if not back else STRING)
        self.working[name] = Working(base, column.type, back, flags)
        return base, flags

    def _materialise(self, column: Working, steps: tuple[Step, ...], kind: ColumnType) -> tuple[str, frozenset[str]]:
        return self._use(*self._make(column, steps, kind) if steps else (column.base, column.flags))

    def _make(self, column: Working, steps: tuple[Step, ...], kind: ColumnType) -> tuple[str, frozenset[str]]:
        """Run the steps as soon as their column is available. Returns the new frame column and its flags."""
        out = f"{self._prefix}m{len(self.frame)}"
        program = Program(column.base, steps, out)
        self.frame |= {out: kind, **dict.fromkeys(flags_of(steps), ColumnType("boolean"))}
        if column.base in self._read_columns():
            self.read.append(program)
        else:
            self.stages.append(RunPrograms((program,)))
        return out, column.flags | set(flags_of(steps))

    def _use(self, base: str, flags: frozenset[str]) -> tuple[str, frozenset[str]]:
        """Add a column of the reader to the columns that expressions read."""
        read = self._read_columns()
        self.needed |= dict.fromkeys(name for name in (base, *sorted(flags)) if name in read)
        return base, flags

    def _read_columns(self) -> set[str]:
        """Return the frame columns of the reader."""
        return {name for name, _ in self.source} | {name for program in self.read for name in program.outputs}

    def new_columns(self, names: Iterable[str]) -> dict[str, str]:
        """Return new names of frame columns, one for each name."""
        return {name: f"{self._prefix}c{len(self.frame) + index}" for index, name in enumerate(names)}

    def add_computed(self, name: str, out: str, kind: ColumnType, flags: frozenset[str]) -> None:
        self.refuse_existing(name)
        self.frame[out] = kind if is_native(kind) else STRING
        self.working[name] = Working(out, self.frame[out], flags=flags)
        self.convert(name, kind)

    def programs(self) -> list[Program | CallModule | Explode]:
        """Return the programs that run before this op."""
        return [*self.read, *(p for stage in self.stages if isinstance(stage, RunPrograms) for p in stage.programs)]

    def tried_flags(self) -> frozenset[str]:
        """Return the flags of all steps before this op. Later expressions can use them."""
        flags = frozenset(flag for program in self.programs() for flag in program.flags)
        return self._use("", flags)[1]

    # --- rows -------------------------------------------------------------------------------------------------

    def keep_where(self, sql: str, flags: Iterable[str], *, bad: str = "TRUE") -> None:
        """Mark the rows for which a condition is true as those that pass this node. Of bad rows, those for which `bad`
        is true are marked, so that the sink validates them."""
        keep = f"_flow_keep_{len(self.stages)}"
        gone = f"WHEN NOT {self.filter_column} THEN FALSE " if self.filter_column else ""
        passes = f"CASE {gone}WHEN {self.bad_rows(flags)} THEN {bad} ELSE coalesce({sql}, FALSE) END"
        self.stages.append(Derive(((keep, passes),)))
        self.filter_column = self.filter_columns[self.node] = keep

    def guarded(self, sql: str, flags: Iterable[str]) -> str:
        """Return an expression that is NULL for bad, filtered and rejected rows, for which it must not fail."""
        gone = "".join(f" OR NOT {column}" for column in (self.filter_column, self.valid_column) if column)
        return f"CASE WHEN {self.bad_rows(flags)}{gone} THEN NULL ELSE {sql} END"

    def gone(self) -> str:
        return f"NOT {self.filter_column}" if self.filter_column else "FALSE"

    def eligible(self, flags: Iterable[str]) -> str:
        """Return a condition that is true for rows that are not filtered and not bad."""
        return f"NOT ({self.gone()} OR {self.bad_rows(flags)})"

    def bad_rows(self, flags: Iterable[str]) -> str:
        """Return a condition that is true for bad rows, which no filter may remove: unreadable records, and rows in
        which one of the `flags` is set. Flags of casts do not count if bad values become NULL."""
        verdicts = flags if self.retains_bad else self._rejecting & set(flags)
        return " OR ".join([UNREADABLE, *sorted(verdicts)])

    def ending_rows(self) -> str:
        """Return a condition that is true for rows that end the run, whatever other rows do."""
        ends = [flag.column for flag in self.flags if isinstance(flag, TieFlag)]
        if self._ends_on_bad_value:
            tried = self.tried_flags()
            ends += [flag.column for flag in self.flags if isinstance(flag, CastFlag) and flag.column in tried]
        unreadable = [UNREADABLE] if self._ends_on_bad_row else []
        return " OR ".join([*unreadable, *(f"coalesce({flag}, FALSE)" for flag in ends)]) or "FALSE"

    def tie_flag(self, order_by: str, consequence: str) -> str:
        tie = self.add_flag(lambda column: TieFlag(column, self.node, order_by, consequence))
        self.frame[tie] = ColumnType("boolean")
        return tie

    def all_used(self) -> tuple[str, ...]:
        """Return the frame columns that distinguish rows."""
        return tuple(dict.fromkeys(self._use(c.base, c.flags)[0] for c in self.working.values()))

    def order_column(self, name: str, code: str) -> tuple[str, frozenset[str]]:
        kind = self.get(name).type
        if not is_native(kind):
            raise self.refuse(
                code,
                f"column {name!r} is {kind}, whose order only PostgreSQL knows.",
                "Cast it first, for example to decimal(38,10) or timestamp.",
            )
        return self.need(name)

    # --- explode and join -------------------------------------------------------------------------------------

    def explode(self, step: Explode, kind: ColumnType) -> None:
        """Turn each record into several rows. Spark must not compute any earlier op, because it would read records."""
        if self.stages:
            raise LookupError(f"{self.node} explodes rows that have left the reader")
        self.read.append(step)
        boolean, whole = ColumnType("boolean"), ColumnType("integer")
        self.frame |= {step.element: kind, ELEMENT: whole, ELEMENTS: whole, step.keep: boolean}
        self.frame |= dict.fromkeys(step.flags, boolean)
        self._use(step.keep, frozenset())
        self.filter_column = self.filter_columns[self.node] = step.keep

    def _once(self, step: Explode) -> Explode:
        """Return the step with `once` set to the columns that no later step reads: one row can have their values."""
        place = self.read.index(step)
        before = {name for name, _ in self.source} | {p.out for p in self.read[:place] if isinstance(p, Program)}
        read = {column.base for column in self.working.values()} | self.needed.keys()
        read |= {program.base for program in self.read[place + 1 :]}
        return step if self.repeats_all else replace(step, once=tuple(sorted(before - read)))

    def reference_of(self, op: ops.Join) -> Reference:
        """Return the reference of a join, with only the columns that the join uses."""
        path = self._path.references[op.with_]
        reading = self._references[path.source.id]
        prefix = f"{self._prefix}r{len(self.stages)}"
        compiled = compile_path(self.session, path, reading.fields, prefix=prefix)
        for name in (*op.on.values(), *op.columns):
            if name not in compiled.working:
                raise self.refuse(
                    "column.unknown",
                    f"{op.with_} has no column {name!r}.",
                    f"Its columns are {', '.join(compiled.working)}.",
                )
        used = {name: compiled.working[name] for name in (*op.on.values(), *op.columns)}
        return Reference(op.with_, path, reading, replace(compiled, working=used))


def _carried_steps(column: Working) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Return the steps to a value that a Spark frame can hold, and the steps from there to the type of the column.

    Spark has no type for times, so they are canonical text in a frame.
    """
    if is_native(column.type) or pa.types.is_string(wire_type(column.type).arrow):
        return column.steps, ()
    back = (Convert(column.type, None),)
    return () if column.steps == back else (*column.steps, Convert(STRING, None)), back
