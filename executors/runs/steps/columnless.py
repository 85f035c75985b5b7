"""Sources without column names: blank files, which load nothing, and files whose records have no field."""

from __future__ import annotations

from dataclasses import replace

from executors.destinations.base import Prepared
from executors.errors import InvalidContent
from executors.model import Destination, SourceField
from executors.reading import Reading, warn_of_blank
from executors.report import RunWarning
from executors.runs.state import Inputs, LoadState, RunContext
from executors.runs.steps.prepare import compile_inputs, new_load
from executors.runs.steps.rules import too_many
from executors.runs.target_run import TargetRun
from ir.pipeline import Path
from ir.words import counted


def names_no_column(inputs: Inputs) -> bool:
    """Return whether no row can be loaded. Raises InvalidContent if this is so for the rows of one of several sources,
    unless that source is blank."""
    if len(inputs) > 1:
        for path, reading in inputs:
            if not reading.is_blank and not reading.fields:
                raise _no_columns(path.source.id, reading.records)
    return all(reading.is_blank or not reading.fields for _, reading in inputs)


def without_columns(target: TargetRun) -> TargetRun:
    """Return the target without ops and rules, which need columns of the source. Dataset checks are not removed."""
    path = target.path
    validates = tuple(validate.model_copy(update={"row_level": []}) for validate in path.validates)
    return replace(target, paths=(Path(path.source, (), validates, path.target),))


def with_columns_of(target: TargetRun, reading: Reading, table: Destination) -> tuple[Path, Reading]:
    """Return an empty reading with the columns of the target table, except those that loads fill themselves."""
    filled = target.handler.filled_columns
    columns = (column for column in table.columns if not column.generated and column.name not in filled)
    return target.path, replace(reading, fields=tuple(SourceField(column.name, column.type) for column in columns))


def blank_warnings(inputs: Inputs) -> list[RunWarning]:
    """Return a warning for each source without rows and columns."""
    return [blank_warning(path.source.id, reading) for path, reading in inputs if reading.is_blank]


def blank_warning(node: str, reading: Reading) -> RunWarning:
    return warn_of_blank(node, [origin.name for origin in reading.origins])


def columnless_load(context: RunContext, target: TargetRun, reading: Reading) -> LoadState:
    """Return the state of a load without columns. No table is created or inspected."""
    node, heads = target.path.target, compile_inputs(context, [(target.path, reading)])
    prepared = Prepared(Destination(node.schema_, node.table, ()), (), reading)
    return LoadState(new_load(context, target, prepared, (), heads), rows_read=reading.records or 0)


def stop_without_columns(state: LoadState) -> LoadState:
    """Raise the failure of a load without columns. Unreadable records are stored as rejected rows."""
    if state.is_all_rejected:
        raise too_many(state, ())
    raise _no_columns(state.load.path.source.id, state.rows_read)


def _no_columns(node: str, records: int | None) -> InvalidContent:
    return InvalidContent(
        "source.no_columns",
        f"None of {counted(records or 0, 'record')} has a field. There is nothing to load.",
        node=node,
        hint="Check whether the sender has lost its data.",
    )
