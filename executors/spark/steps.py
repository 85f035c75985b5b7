"""Work on columns that needs no expression. It runs in Python, in the reader or the sink, where the result is first
needed.

Both use the same grammar, so a value has the same meaning in a filter and in the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import PLAIN, Written, convert_column
from executors.grammar.extracting import UNREADABLE, check_objects, find_match, find_values, read_documents, shape_of
from executors.validation.target import without_empty
from executors.wasm import CallModule
from ir.json_paths import Step as PathStep
from ir.types import ColumnType


@dataclass(frozen=True, slots=True)
class Trim:
    """Remove ASCII white space from both ends of text, with the same rules as the grammar."""

    flags: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Fill:
    """Replace NULL with a value. `value` has a Python type that pyarrow accepts for the column's Arrow type."""

    value: Any
    flags: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class FindMatch:
    """Take a group of the first match of a pattern. The flag `unreadable` is true for values that are not text,
    `missing` if there is no match."""

    pattern: str
    group: int
    unreadable: str
    missing: str | None

    @property
    def flags(self) -> tuple[str, ...]:
        return _named(self.unreadable, self.missing)

    def with_flags(self, flags: tuple[str, ...]) -> FindMatch:
        return replace(self, unreadable=flags[0], missing=flags[1] if self.missing else None)


@dataclass(frozen=True, slots=True)
class FindValue:
    """Take the text of the value at a path in JSON, or its JSON text. The flag `unreadable` is true for values that are
    not JSON, `nested` for an object or array if a plain value is expected, `missing` if there is no value."""

    path: tuple[PathStep, ...]
    as_json: bool
    unreadable: str
    nested: str
    missing: str | None
    empty_as_null: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        return _named(self.unreadable, self.nested, self.missing)

    def with_flags(self, flags: tuple[str, ...]) -> FindValue:
        return replace(self, unreadable=flags[0], nested=flags[1], missing=flags[2] if self.missing else None)


@dataclass(frozen=True, slots=True)
class CheckObject:
    """Check that values are JSON objects with these members. The flag `unreadable` is true for values that are not,
    `unknown` for objects with other members. The members of an unreadable value do not count as missing."""

    paths: tuple[tuple[PathStep, ...], ...]
    unreadable: str
    unknown: str | None
    empty_as_null: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        return _named(self.unreadable, self.unknown)

    def with_flags(self, flags: tuple[str, ...]) -> CheckObject:
        return replace(self, unreadable=flags[0], unknown=flags[1] if self.unknown else None)


def _named(*flags: str | None) -> tuple[str, ...]:
    return tuple(flag for flag in flags if flag is not None)


@dataclass(frozen=True, slots=True)
class Convert:
    """Convert a column to a type. `flag` is the name of the boolean column that is true where the conversion failed, if
    any."""

    to: ColumnType
    flag: str | None
    written: Written = PLAIN
    empty_as_null: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        return () if self.flag is None else (self.flag,)

    def with_flags(self, flags: tuple[str, ...]) -> Convert:
        return replace(self, flag=flags[0] if flags else None)


Step = Trim | Fill | Convert | FindMatch | FindValue | CheckObject


@dataclass(frozen=True, slots=True)
class Program:
    """Steps from one frame column to a new one, `out`."""

    base: str
    steps: tuple[Step, ...]
    out: str

    @property
    def flags(self) -> list[str]:
        return flags_of(self.steps)

    @property
    def outputs(self) -> list[str]:
        """The frame columns that it adds: the result, then its flags."""
        return [self.out, *self.flags]


def flags_of(steps: Sequence[Step]) -> list[str]:
    return [flag for step in steps for flag in step.flags]


@dataclass(frozen=True, slots=True)
class ProgramsTask:
    """Runs programs on the batches of a task."""

    programs: tuple[Program | CallModule, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (run_programs(batch, self.programs) for batch in batches)


def run_programs(batch: pa.RecordBatch, programs: Sequence[Program | CallModule]) -> pa.RecordBatch:
    """Return the batch with the result and the flags of each program. A program can start from the result of an earlier
    one. Bad values do not raise errors. Raises the errors of `CallModule.run`."""
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    documents = _Documents()
    for program in programs:
        if isinstance(program, CallModule):
            columns |= program.run(columns)
        else:
            columns |= _run(program, columns[program.base], documents)
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


@dataclass(slots=True)
class _Documents:
    """The parsed JSON of the columns of a batch. Each column is parsed once, however many values are extracted."""

    _read: dict[tuple[int, bool], tuple[pa.Array, list[Any]]] = field(default_factory=dict)

    def of(self, values: pa.Array, empty_as_null: bool) -> list[Any]:
        key = id(values), empty_as_null
        if key not in self._read:
            # The array is stored too, so that its id is not reused.
            self._read[key] = values, read_documents(values, empty_as_null=empty_as_null)
        return self._read[key][1]


def _run(program: Program, values: pa.Array, documents: _Documents) -> dict[str, pa.Array]:
    flags: dict[str, pa.Array] = {}
    for step in program.steps:
        match step:
            case Trim():
                values = pc.ascii_trim_whitespace(values)
            case Fill():
                values = pc.fill_null(values, pa.scalar(step.value, values.type))
            case Convert():
                values, bad = _convert(values, step)
                flags |= dict.fromkeys(step.flags, bad)
            case FindMatch():
                found = find_match(values, step.pattern, step.group)
                flags |= _flags(step.unreadable, found.unreadable, step.missing, found.missing)
                values = found.values
            case FindValue():
                found = find_values(documents.of(values, step.empty_as_null), step.path, as_json=step.as_json)
                flags |= _flags(step.unreadable, found.unreadable, step.missing, found.missing)
                flags[step.nested] = found.nested
                values = found.values
            case CheckObject():
                objects = documents.of(values, step.empty_as_null)
                checked = check_objects(objects, shape_of(step.paths))
                flags |= _flags(step.unreadable, checked.unreadable, step.unknown, checked.unknown)
                if checked.unreadable.true_count:
                    values = pc.if_else(checked.unreadable, pa.scalar(UNREADABLE), values)
    return {program.out: values, **{flag: flags[flag] for flag in flags_of(program.steps)}}


def _flags(unreadable: str, is_unreadable: pa.Array, missing: str | None, is_missing: pa.Array) -> dict[str, pa.Array]:
    return {unreadable: is_unreadable, **({missing: is_missing} if missing is not None else {})}


def _convert(values: pa.Array, step: Convert) -> tuple[pa.Array, pa.Array]:
    if step.empty_as_null and step.to.kind != "string":
        values = without_empty(values)
    return convert_column(values, step.to, step.written)
