"""The staged rows of a load that reads them again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain

import pyarrow as pa
from pyarrow import dataset as ds

from executors.delta.failures import translate
from executors.delta.plan import DeltaPlan
from executors.errors import Transient
from executors.rejected_rows import RowPosition
from executors.stage_plan import FILE, RECORD


def read_staged(plan: DeltaPlan) -> pa.RecordBatchReader:
    """Return the rows that the winning tasks have staged, with their positions in the source."""
    folder, paths, schema = plan.log.folder, staged_files(plan), staged_schema(plan)
    if not paths:
        return pa.RecordBatchReader.from_batches(schema, iter(()))
    with translate(folder.name):
        found = ds.dataset(paths, schema=schema, format="parquet", filesystem=folder.files)
        reader = found.scanner(use_threads=False).to_reader()
        return _without(plan, reader) if plan.excluded else reader


def staged_files(plan: DeltaPlan) -> list[str]:
    """Return the files of the winning tasks. A task without rows has none."""
    files, folder = plan.files, plan.log.folder
    if plan.rewrites:
        wanted, found = map(files.read_again, plan.winners), folder.list(files.folder)
    else:
        wanted, found = map(files.added, plan.winners), folder.list(plan.run.run_id)
    return sorted(set(wanted).intersection(found))


def _without(plan: DeltaPlan, reader: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """Return the rows that are not excluded."""
    excluded = frozenset(plan.excluded)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            yield batch.filter(pa.array([at not in excluded for at in _positions_in(batch)], pa.bool_()))

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def count_at(plan: DeltaPlan, positions: Collection[RowPosition]) -> int:
    """Return the number of staged rows at these positions: a record that was exploded has several."""
    return sum(at in positions for at in _positions(plan)) if positions else 0


def read_positions(plan: DeltaPlan) -> set[RowPosition]:
    """Return the positions of the staged rows. Only for rows that people have chosen, because it holds all of them."""
    return set(_positions(plan))


def _positions(plan: DeltaPlan) -> Iterator[RowPosition]:
    return chain.from_iterable(map(_positions_in, read_staged(plan)))


def _positions_in(batch: pa.RecordBatch) -> Iterator[RowPosition]:
    return zip(batch.column(FILE).to_pylist(), batch.column(RECORD).to_pylist(), strict=True)


def staged_schema(plan: DeltaPlan) -> pa.Schema:
    return pa.schema([*plan.schema, pa.field(FILE, pa.int32()), pa.field(RECORD, pa.int64())])


def require_all(plan: DeltaPlan, rows: int) -> None:
    """Raise Transient `staging.lost` unless all staged rows are there."""
    if rows != plan.staged:
        raise Transient(
            "staging.lost",
            f"{plan.staged:,} rows were staged for {plan.log.folder.name}, and {rows:,} are there.",
            node=plan.run.node,
            hint="Something has changed the staged files. The source is read again.",
        )
