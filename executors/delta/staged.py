"""The staged rows of a load that reads them again."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import dataset as ds

from executors.delta.failures import translate
from executors.delta.plan import DeltaPlan
from executors.errors import Transient
from executors.stage_plan import FILE, RECORD


def read_staged(plan: DeltaPlan) -> pa.RecordBatchReader:
    """Return the rows that the winning tasks have staged, with their positions in the source."""
    folder = plan.log.folder
    wanted = {plan.files.read_again(task) for task in plan.winners}
    paths = sorted(wanted.intersection(folder.list(plan.files.folder)))
    schema = staged_schema(plan)
    if not paths:
        return pa.RecordBatchReader.from_batches(schema, iter(()))
    with translate(folder.name):
        found = ds.dataset(paths, schema=schema, format="parquet", filesystem=folder.files)
        return found.scanner(use_threads=False).to_reader()


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
