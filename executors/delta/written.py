"""Writes new files of a table from rows that a load has read again."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from deltalake.transaction import AddAction

from executors.delta.added import added_file
from executors.delta.plan import DeltaPlan
from executors.delta.staging import ParquetFile


class TableWriter:
    """Writes files of the table, numbered. `added` are the actions that add them."""

    def __init__(self, plan: DeltaPlan) -> None:
        self._plan, self.added = plan, list[AddAction]()

    def write(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Write a file, unless there are no rows; return their number."""
        plan, path, written = self._plan, self._plan.files.added(len(self.added)), 0
        file: ParquetFile | None = None
        for batch in batches:
            if batch.num_rows:
                file = file or ParquetFile(plan.log.folder, path, plan.schema)
                file.write(batch)
                written += batch.num_rows
        if file is not None:
            file.close()
            action, _ = added_file(plan.log.folder, path, plan.log.folder.size(path))
            self.added.append(action)
        return written
