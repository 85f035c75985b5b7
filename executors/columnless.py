"""Sources that name no column: blank files, of which nothing is loaded, and files without a record that has a field."""

from __future__ import annotations

from dataclasses import replace

from executors.errors import Failure, InvalidContent, LeaseLost
from executors.model import Destination, LoadCommit, RunWarning, SourceField
from executors.postgres import quarantine, staging
from executors.postgres.plan import FILLED
from executors.reading import Reading
from executors.runs.target_run import TargetRun
from executors.target_load import TargetLoad
from ir.pipeline import Path
from ir.words import counted


def names_no_column(reading: Reading) -> bool:
    return reading.is_blank or not reading.fields


def without_columns(lane: TargetRun) -> TargetRun:
    """The way of a target without all that asks for columns of the source: its ops and rules. Checks of what is
    staged stay."""
    path = lane.path
    validates = tuple(validate.model_copy(update={"row_level": []}) for validate in path.validates)
    return replace(lane, path=Path(path.source, (), validates, path.target))


def with_columns_of(reading: Reading, table: Destination) -> Reading:
    """Nothing, with the columns of the table that it is loaded into."""
    columns = (column for column in table.columns if not column.generated and column.name not in FILLED)
    return replace(reading, fields=tuple(SourceField(column.name, column.type) for column in columns))


def blank_warning(node: str, reading: Reading) -> RunWarning:
    names = ", ".join(origin.name for origin in reading.origins[:3])
    more = f" and {counted(len(reading.origins) - 3, 'other file')}" if len(reading.origins) > 3 else ""
    return RunWarning("source.blank", node, f"No row and no column: {names}{more}.")


class ColumnlessLoad(TargetLoad):
    """Records of which none has a field: those that cannot be read are kept as rejected rows, and the load fails. No
    table is made or looked at."""

    def run(self) -> LoadCommit:
        self._step("probe")
        for table in dict.fromkeys(self._kept.values()):
            quarantine.probe_quarantine(self._conn, table)
        staging.create_staging(self._conn, self._tables, ())
        try:
            self._pass(())
            raise self._why()
        except LeaseLost:
            raise
        except Failure:
            self._keep_rejects()
            raise
        finally:
            self._drop_staging()

    def _why(self) -> Failure:
        if self._is_all_rejected():
            return self._too_many_rejected(())
        return InvalidContent(
            "source.no_columns",
            f"None of {counted(self._read, 'record')} has a field, so there is nothing to load.",
            node=self._path.source.id,
            hint="Look whether the sender has lost its data.",
        )


class ColumnlessPreview(ColumnlessLoad):
    """Finds the same without keeping anything."""

    def _keep_rejects(self) -> None:
        """Nothing is kept of a preview."""
