"""Reads rows of a database file. Runs inside Spark's tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from executors.database_files.base import Column
from executors.database_files.session import EngineCall, open_file
from executors.database_files.stamp import Stamp
from executors.database_files.systems import FILE_DATABASES
from executors.errors import Transient, of_node
from executors.formats.batches import Batches, batch_of_rows, text_schema, trailer
from executors.model import SourceField
from executors.reading import QueryPart
from ir.file_queries import Grammar


@dataclass(frozen=True, slots=True)
class DatabaseFileReader:
    """Reads the rows of one statement, which end with a trailer that holds their number. With `stamp`, the file must be
    the one that was opened first."""

    grammar: Grammar
    path: str
    stamp: Stamp | None
    columns: tuple[Column, ...]
    seconds: float
    node: str

    def read(self, part: QueryPart, fields: Sequence[SourceField]) -> Batches:
        schema, count = text_schema(fields), 0
        path = Path(self.path)
        with of_node(self.node), open_file(EngineCall(self.grammar, path, self.seconds)) as session:
            if self.stamp is not None and Stamp.of(path, FILE_DATABASES[self.grammar].log_suffix) != self.stamp:
                raise Transient(
                    "source.changed",
                    f"{path.name} was replaced during the run.",
                    hint="The next attempt reads the new file.",
                )
            for rows in session.rows(part.statement, self.columns):
                yield batch_of_rows(count + 1, rows.arrays, rows.bad, schema)
                count += rows.size
        yield trailer(schema, count)
