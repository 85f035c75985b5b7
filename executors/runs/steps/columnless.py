"""Sources without column names: blank files, which load nothing, and files whose records have no field."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from executors.destinations.base import Prepared
from executors.errors import InvalidContent
from executors.model import Destination, SourceField
from executors.reading import Reading
from executors.report import RunWarning
from executors.runs.state import LoadState, RunContext
from executors.runs.steps.prepare import compile_reading, new_load
from executors.runs.steps.rules import too_many
from executors.runs.target_run import TargetRun
from ir.pipeline import Path
from ir.words import counted


def names_no_column(reading: Reading) -> bool:
    return reading.is_blank or not reading.fields


def without_columns(target: TargetRun) -> TargetRun:
    """Return the target without ops and rules, which need columns of the source. Dataset checks are not removed."""
    path = target.path
    validates = tuple(validate.model_copy(update={"row_level": []}) for validate in path.validates)
    return replace(target, path=Path(path.source, (), validates, path.target))


def with_columns_of(reading: Reading, table: Destination, filled: Container[str]) -> Reading:
    """Return an empty reading with the columns of the target table, except those that loads fill themselves."""
    columns = (column for column in table.columns if not column.generated and column.name not in filled)
    return replace(reading, fields=tuple(SourceField(column.name, column.type) for column in columns))


def blank_warning(node: str, reading: Reading) -> RunWarning:
    names = ", ".join(origin.name for origin in reading.origins[:3])
    more = f" and {counted(len(reading.origins) - 3, 'other file')}" if len(reading.origins) > 3 else ""
    return RunWarning("source.blank", node, f"No rows and no columns: {names}{more}.")


def columnless_load(context: RunContext, target: TargetRun, reading: Reading) -> LoadState:
    """Return the state of a load without columns. No table is created or inspected."""
    node, compiled = target.path.target, compile_reading(context, target.path, reading)
    prepared = Prepared(Destination(node.schema_, node.table, ()), (), reading)
    return LoadState(new_load(context, target, prepared, (), compiled), rows_read=reading.records or 0)


def stop_without_columns(state: LoadState) -> LoadState:
    """Raise the failure of a load without columns. Unreadable records are stored as rejected rows."""
    if state.is_all_rejected:
        raise too_many(state, ())
    raise InvalidContent(
        "source.no_columns",
        f"None of {counted(state.rows_read, 'record')} has a field. There is nothing to load.",
        node=state.load.path.source.id,
        hint="Check whether the sender has lost its data.",
    )
