"""The rows of the files of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.transaction import RemoveAction
from pyarrow import dataset as ds

from executors.delta.failures import translate
from executors.delta.folders import TableFolder
from executors.errors import Terminal

NUMBER = "_flow_number"
"""The number of the file that a row is in."""


def files_of(table: DeltaTable, folder: TableFolder) -> Mapping[str, int]:
    """Return the sizes of the files of a table by their paths."""
    with translate(folder.name):
        actions = pa.table(table.get_add_actions(flatten=True))
    paths = [unquote(path) for path in actions.column("path").to_pylist()]
    if outside := next((path for path in paths if "://" in path or path.startswith("/")), None):
        raise Terminal(
            "target.delta_unsupported",
            f"{folder.name} has a file outside of its folder: {outside.rpartition('/')[2]}.",
            hint="Load a table that is no shallow clone of another one.",
        )
    return dict(zip(paths, actions.column("size_bytes").to_pylist(), strict=True))


def read_file(folder: TableFolder, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in the columns of the table; those that it lacks are NULL."""
    with translate(folder.name):
        found = ds.dataset([path], schema=schema, format="parquet", filesystem=folder.files)
        yield from found.scanner(use_threads=False).to_reader()


def read_numbered(folder: TableFolder, paths: list[str], schema: pa.Schema) -> pa.RecordBatchReader:
    """Return the rows of files, one after the other, each with the number of its file."""
    numbered = schema.append(pa.field(NUMBER, pa.int32()))

    def batches() -> Iterator[pa.RecordBatch]:
        for number, path in enumerate(paths):
            for batch in read_file(folder, path, schema):
                column = pa.repeat(pa.scalar(number, pa.int32()), batch.num_rows)
                yield pa.RecordBatch.from_arrays([*batch.columns, column], schema=numbered)

    return pa.RecordBatchReader.from_batches(numbered, batches())


def table_files(table: DeltaTable | None, folder: TableFolder) -> list[str]:
    """Return the files of a table, none of one that does not exist."""
    return sorted(files_of(table, folder)) if table is not None else []


def open_files(folder: TableFolder, paths: list[str], schema: pa.Schema) -> ds.Dataset | pa.Table:
    """Return the rows of files, in these columns, as something that can be read several times."""
    if not paths:
        return schema.empty_table()
    with translate(folder.name):
        return ds.dataset(paths, schema=schema, format="parquet", filesystem=folder.files)


def removal(path: str, size: int, now: int) -> RemoveAction:
    """Return the action that removes a file; `now` is in milliseconds."""
    return RemoveAction(path, True, now, size, {})
