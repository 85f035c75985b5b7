"""Compiles the ops of a path. Renaming, selecting, trimming, casting are bookkeeping; only expressions make stages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark

from executors.errors import InvalidContent, Terminal
from executors.grammar import PLAIN, Written
from executors.model import SourceField
from executors.spark.batch_passthrough import UNREADABLE
from executors.spark.compiled import (
    Compiled,
    Deduplicate,
    Derive,
    ExcludeRejected,
    Expression,
    RuleColumns,
    RunPrograms,
    Stage,
    Tie,
    Working,
)
from executors.spark.computing import cannot_fail
from executors.spark.errors import analysing
from executors.spark.session import RunSession
from executors.spark.steps import Convert, Program, Step, flags_of, outputs_of
from executors.spark.transforms import apply_op
from executors.spark.types import column_type, is_native, spark_type
from executors.validation import CastFlag, OpFlag, TieFlag
from ir import rules
from ir.connectors import CONNECTORS
from ir.expressions import ExpressionError, bind_expression, parse_expression
from ir.nodes import Validate
from ir.pipeline import Path
from ir.types import STRING, ColumnType


def plan_columns(session: RunSession, path: Path, fields: Sequence[SourceField]) -> tuple[SourceField, ...]:
    """The working columns, with types, that reach the target after all ops.

    Raises Terminal naming node and op: `source.column_missing`, `column.unknown`, `column.repeated`,
    `column.none_left`, `expression.invalid`, `expression.type`, `filter.not_boolean`, `rule.not_boolean`,
    `fillNull.type`, `trim.type`.
    """
    return compile_path(session, path, fields).fields


def compile_path(
    session: RunSession,
    path: Path,
    fields: Sequence[SourceField],
    masked_by: Collection[str] = (),
    *,
    excludes_rejected: bool = False,
) -> Compiled:
    """Compile all ops of a path. Spark is asked for the types of expressions only; nothing is read.

    `masked_by` are cast flags that reject their rows: behind these casts no expression is asked of such a row, whatever
    columns it reads. `excludes_rejected` has no expression asked of rows that rules of an earlier node reject.
    """
    compiler = Compiler(session, path, fields, frozenset(masked_by))
    for transform in path.transforms:
        for number, op in enumerate(transform.ops, start=1):
            compiler.enter(transform.id, f"{op.op} (op {number})")
            apply_op(compiler, op)
    for index, validate in enumerate(path.validates):
        if (excludes_rejected or compiler.moves_rows) and _may_fail_for_rejected(path, index):
            compiler.exclude_rejected()
        for number, rule in enumerate(validate.row_level, start=1):
            compiler.enter(validate.id, f"{rule.type} (rule {number})")
            compiler.validate(rule)
    return compiler.finish()


def mask_rejected(
    session: RunSession, path: Path, fields: Sequence[SourceField], compiled: Compiled
) -> Compiled | None:
    """The path compiled anew, so that no expression fails for a row that a cast or a rule of a node before it rejects;
    None if none rejects any. It reads more columns typed than expressions need and validates rules twice, which only
    pays where an expression has failed."""
    rejects = path.target.on_type_mismatch != "null"
    tried = {flag.column for flag in compiled.sink_flags() if rejects and isinstance(flag, CastFlag)}
    if not tried and not any(_may_fail_for_rejected(path, index) for index in range(len(path.validates))):
        return None
    return compile_path(session, path, fields, tried, excludes_rejected=True)


def _may_fail_for_rejected(path: Path, index: int) -> bool:
    """Whether a validate node asks Spark something and a node before it rejects rows."""
    return _asks_spark(path.validates[index]) and any(map(_drops_rows, path.validates[:index]))


def _asks_spark(validate: Validate) -> bool:
    return any(rule.when is not None or isinstance(rule, rules.Expression) for rule in validate.row_level)


def _drops_rows(validate: Validate) -> bool:
    return any(rule.on_fail != "warn" for rule in validate.row_level)


class Compiler:
    """The state between two ops: working columns over frame columns, and the stages so far."""

    def __init__(
        self, session: RunSession, path: Path, fields: Sequence[SourceField], masked_by: frozenset[str] = frozenset()
    ) -> None:
        self._session = session
        self._masked_by = masked_by
        self._empty_as_null = path.target.empty_as_null
        # Where bad values become NULL they count as NULL in conditions too; else their rows are kept for the verdict.
        self._keeps_order = CONNECTORS[path.source.connector].keeps_order
        self._retains_bad = path.target.on_type_mismatch != "null"
        self.node, self.location = path.source.id, "columns"
        self.source = tuple((f"s{index}", field) for index, field in enumerate(fields))
        self.frame = {column: field.type for column, field in self.source}
        self.working = {field.name: Working(column, field.type) for column, field in self.source}
        self.read: list[Program] = []
        self.stages: list[Stage] = []
        self.flags: list[OpFlag] = []
        self.expressions: list[Expression] = []
        self.needed: dict[str, None] = {}
        self.filter_column: str | None = None
        self.valid_column: str | None = None
        self.filter_columns: dict[str, str] = {}
        self.rules: list[RuleColumns] = []
        self._read_foreign_types()
        self._declare(path)

    @property
    def moves_rows(self) -> bool:
        """Whether a second try is not to be had: the rows of a failed one cannot be told one by one."""
        return any(isinstance(stage, Deduplicate) for stage in self.stages)

    def enter(self, node: str, location: str) -> None:
        """From here on, what is refused is refused at this op."""
        self.node, self.location = node, location

    def finish(self) -> Compiled:
        return Compiled(
            self.source,
            tuple(self.read),
            tuple(self.stages),
            dict(self.working),
            tuple(self.flags),
            self.frame,
            tuple(self.expressions),
            tuple(self.needed),
            tuple(self.filter_columns.items()),
            tuple(self.rules),
        )

    def refuse(self, code: str, message: str, hint: str = "") -> Terminal:
        return Terminal(code, f"{self.location}: {message}", node=self.node, hint=hint)

    # --- columns ----------------------------------------------------------------------------------------------

    def get(self, name: str) -> Working:
        """The working column of that name; raises Terminal `column.unknown`."""
        try:
            return self.working[name]
        except KeyError:
            raise self.refuse(
                "column.unknown",
                f"there is no column {name!r}.",
                f"The columns here are {', '.join(self.working) or 'none: the files may be empty'}.",
            ) from None

    def add_step(self, name: str, step: Step, kind: ColumnType) -> None:
        column = self.get(name)
        self.working[name] = replace(column, steps=(*column.steps, step), type=kind)

    def convert(self, name: str, to: ColumnType, written: Written = PLAIN) -> None:
        """Try to turn a column into a type, whenever its value is first needed."""
        column = self.get(name)
        if column.type == to and written == PLAIN:
            return
        flag = f"_flow_flag_{len(self.flags)}"
        self.flags.append(CastFlag(flag, self.node, name, str(to), str(written)))
        self.add_step(name, Convert(to, flag, written, self._empty_as_null), to)

    def _read_foreign_types(self) -> None:
        """Types that Spark lacks, and values that come as text, are carried so and read by whoever needs them."""
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

    # --- expressions ------------------------------------------------------------------------------------------

    def derive(self, columns: Mapping[str, str]) -> None:
        """Add columns; every expression sees the columns before this op."""
        self._find_rejected()
        bound = {name: self._bind(text, name) for name, text in columns.items()}
        outs = {name: f"c{len(self.frame) + index}" for index, name in enumerate(bound)}
        types = self._analyse({outs[name]: (columns[name], sql) for name, (sql, _) in bound.items()})
        bound = {name: (sql, flags | self._rejected(sql)) for name, (sql, flags) in bound.items()}
        self.stages.append(Derive(tuple((outs[n], self._guarded(sql, flags)) for n, (sql, flags) in bound.items())))
        for name, (_, flags) in bound.items():
            self.frame[outs[name]] = kind = self._type_of(types[outs[name]], columns[name])
            self.working[name] = Working(outs[name], kind, flags=flags)

    def _find_rejected(self) -> None:
        """Have the casts so far tried, of which some reject rows that no expression is to be asked of."""
        for name, column in list(self.working.items()):
            if is_native(column.type) and not self._masked_by.isdisjoint(flags_of(column.steps)):
                self._need(name)

    def _rejected(self, sql: str) -> frozenset[str]:
        """The flags so far that spare rows from an expression which may fail."""
        if not self._masked_by or cannot_fail(sql, self.frame):
            return frozenset()
        made = [*self.read, *(p for stage in self.stages if isinstance(stage, RunPrograms) for p in stage.programs)]
        return self._masked_by & {flag for program in made for flag in flags_of(program.steps)}

    def _type_of(self, kind: spark.DataType, text: str) -> ColumnType:
        found = column_type(kind)
        if found is None:
            raise self.refuse(
                "expression.type",
                f"{text!r} returns {kind.simpleString()}, which no column can store.",
                "Convert it to a plain value: cast(… as string), element_at(…, 1), to_json(…).",
            )
        return found

    def keep(self, condition: str) -> None:
        """Mark the rows for which the condition is true, and those that only the sink may validate; it drops the
        others.

        They go on until then because rows and the batches that they were read in must stay in step.
        """
        sql, flags = self._condition(condition, "filter.not_boolean")
        keep = f"_flow_keep_{len(self.stages)}"
        gone = f"WHEN NOT {self.filter_column} THEN FALSE " if self.filter_column else ""
        self.stages.append(
            Derive(((keep, f"CASE {gone}WHEN {self._bad(flags)} THEN TRUE ELSE coalesce({sql}, FALSE) END"),))
        )
        self.filter_column = self.filter_columns[self.node] = keep

    def exclude_rejected(self) -> None:
        """From here on ask no expression of rows that the rules so far reject: an error in it would end the run for a
        row that is not loaded anyway."""
        out = f"_flow_valid_{len(self.stages)}"
        self.stages.append(ExcludeRejected(out, self.finish()))
        self.frame[out] = ColumnType("boolean")
        self.valid_column = out

    def validate(self, rule: rules.RowRule) -> None:
        """Have Spark compute what a row rule says in Spark's words. Its condition is asked of no row that the rule is
        not for, and neither of rows that are bad, filtered away or rejected by a node before."""
        applies = value = None
        if rule.when is not None:
            applies = self._rule_column(*self._condition(rule.when, "rule.not_boolean"))
        if isinstance(rule, rules.Expression):
            sql, flags = self._condition(rule.expression, "rule.not_boolean")
            value = self._rule_column(f"CASE WHEN {applies} THEN {sql} END" if applies else sql, flags)
        self.rules.append(RuleColumns(applies, value))

    def _rule_column(self, sql: str, flags: Iterable[str]) -> str:
        column = f"_flow_rule_{len(self.stages)}"
        self.stages.append(Derive(((column, self._guarded(sql, flags)),)))
        self.frame[column] = ColumnType("boolean")
        return column

    def _condition(self, text: str, code: str) -> tuple[str, frozenset[str]]:
        """A checked expression that is true or false, and the cast flags that it hangs on; raises Terminal `code`."""
        self._find_rejected()
        sql, flags = self._bind(text)
        kind = self._analyse({"condition": (text, sql)})["condition"]
        if not isinstance(kind, spark.BooleanType):
            raise self.refuse(
                code, f"{text!r} gives {kind.simpleString()}, not true or false.", "Use a comparison: amount > 0."
            )
        return sql, flags | self._rejected(sql)

    def keep_last(self, keys: Sequence[str], order_by: str | None) -> None:
        """Mark the last row of each key; rows that are filtered out do not count, those that are bad all stay."""
        needed = [self._need(name) for name in keys]
        order = self._order(order_by) if order_by is not None else None
        flags = frozenset().union(*(flags for _, flags in (*needed, *([order] if order else []))))
        bad, gone = self._bad(flags), f"NOT {self.filter_column}" if self.filter_column else "FALSE"
        keep = f"_flow_keep_{len(self.stages)}"
        self.stages.append(
            Deduplicate(
                keep,
                tuple(column for column, _ in needed),
                order and order[0],
                f"NOT ({gone} OR {bad})",
                f"NOT {gone} AND ({bad})",
                self._tie(order_by, order[0]) if order_by and order else None,
            )
        )
        self.filter_column = self.filter_columns[self.node] = keep

    def _tie(self, order_by: str, column: str) -> Tie | None:
        """Where the source has no order, what tells rows that are equally last apart. What was dropped does not."""
        if self._keeps_order:
            return None
        tie = f"_flow_flag_{len(self.flags)}"
        self.flags.append(TieFlag(tie, self.node, order_by))
        self.frame[tie] = ColumnType("boolean")
        return Tie(tie, column, tuple(dict.fromkeys(self._use(c.base, c.flags)[0] for c in self.working.values())))

    def _order(self, name: str) -> tuple[str, frozenset[str]]:
        kind = self.get(name).type
        if not is_native(kind):
            raise self.refuse(
                "deduplicate.order_type",
                f"column {name!r} is {kind}, whose order only PostgreSQL knows.",
                "Cast it first, for example to decimal(38,10) or timestamp.",
            )
        return self._need(name)

    def _bind(self, text: str, column: str = "") -> tuple[str, frozenset[str]]:
        """The checked expression over frame columns, and the cast flags that its value hangs on. `column` is the one
        that it makes."""
        try:
            needed = {name: self._need(name) for name in parse_expression(text).columns}
        except ExpressionError as error:
            raise self.refuse(error.code, error.message, error.hint) from error
        sql = bind_expression(text, {name: base for name, (base, _) in needed.items()})
        self.expressions.append(Expression(self.node, self.location, text, sql, column))
        return sql, frozenset().union(*(flags for _, flags in needed.values()))

    def _guarded(self, sql: str, flags: Iterable[str]) -> str:
        """Rows that are bad, filtered away or rejected must not fail an expression."""
        gone = "".join(f" OR NOT {column}" for column in (self.filter_column, self.valid_column) if column)
        return f"CASE WHEN {self._bad(flags)}{gone} THEN NULL ELSE {sql} END"

    def _bad(self, flags: Iterable[str]) -> str:
        """True for rows that no filter may hide: those unread, and those whose verdict hangs on a failed cast."""
        return " OR ".join([UNREADABLE, *(sorted(flags) if self._retains_bad else ())])

    def _need(self, name: str) -> tuple[str, frozenset[str]]:
        """A frame column that holds the value typed (text for types that Spark lacks), and the flags it hangs on."""
        column = self.get(name)
        if is_native(column.type):
            base, flags = self._materialise(column, column.steps, column.type)
            self.working[name] = Working(base, column.type, flags=flags)
            return base, flags
        typed, foreign = _split_steps(column.steps)
        if typed:
            base, flags = self._materialise(column, typed, cast(Convert, typed[-1]).to)
            self.working[name] = column = Working(base, column.type, foreign, flags)
        # Text serves the expression; whether it is what it should be stays for the sink to say.
        return self._materialise(column, tuple(map(_as_text, foreign)), STRING)

    def _materialise(self, column: Working, steps: tuple[Step, ...], kind: ColumnType) -> tuple[str, frozenset[str]]:
        if not steps:
            return self._use(column.base, column.flags)
        out = f"m{len(self.frame)}"
        program = Program(column.base, steps, out)
        self.frame |= {out: kind, **dict.fromkeys(flags_of(steps), ColumnType("boolean"))}
        if column.base in dict(self.source):
            self.read.append(program)
        else:
            self.stages.append(RunPrograms((program,)))
        return self._use(out, column.flags | set(flags_of(steps)))

    def _use(self, base: str, flags: frozenset[str]) -> tuple[str, frozenset[str]]:
        """Have the frame carry what an expression looks at, where the reader makes it."""
        read = {name for name, _ in self.source} | set(outputs_of(self.read))
        self.needed |= dict.fromkeys(name for name in (base, *sorted(flags)) if name in read)
        return base, flags

    def _analyse(self, expressions: Mapping[str, tuple[str, str]]) -> dict[str, spark.DataType]:
        """The types of expressions over the frame, by Spark; raises Terminal `expression.invalid`."""
        frame = empty_frame(self._session, self.frame)
        types: dict[str, spark.DataType] = {}
        for out, (text, sql) in expressions.items():
            with analysing(self.node, self.location, text, self._types_hint(text)):
                types[out] = frame.select(F.expr(sql).alias(out)).schema[out].dataType
        return types

    def _types_hint(self, text: str) -> str:
        kinds = {name: self.working[name].type for name in sorted(parse_expression(text).columns)}
        hint = f"In it {', '.join(f'{name} is {kind}' for name, kind in kinds.items())}. " if kinds else ""
        if texts := [name for name, kind in kinds.items() if kind == STRING]:
            cast_first = bind_expression("cast(x as double)", {"x": texts[0]})
            return f"{hint}Cast what is a number or a date, as in {cast_first}."
        return f"{hint}Cast where the types do not fit each other."


def _split_steps(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """The steps up to the last one that makes a type which Spark has, and those after it."""
    ends = [index for index, step in enumerate(steps, 1) if isinstance(step, Convert) and is_native(step.to)]
    end = ends[-1] if ends else 0
    return steps[:end], steps[end:]


def _as_text(step: Step) -> Step:
    return replace(step, to=STRING, flag=None, written=PLAIN) if isinstance(step, Convert) else step


def empty_frame(session: RunSession, columns: Mapping[str, ColumnType]) -> DataFrame:
    """A frame of these columns without rows, for analysis."""
    schema = spark.StructType([spark.StructField(name, spark_type(kind)) for name, kind in columns.items()])
    return session.start().createDataFrame([], schema)
