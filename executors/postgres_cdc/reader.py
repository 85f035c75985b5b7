"""Reads the lines of a window into Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from executors.change_log.window_files import LinesPart, blocks_of
from executors.formats.batches import BadRecords, Batches
from executors.model import SourceField
from executors.postgres.read import batch_of_lines, snapshot_schema, take_bad_lines


@dataclass(frozen=True, slots=True)
class LinesReader:
    """Reads lines of changes. The number of a record is that of its change. `may_be_no_text` is set for databases
    without an encoding."""

    may_be_no_text: bool

    def read(self, part: LinesPart, fields: Sequence[SourceField]) -> Batches:
        schema, names = snapshot_schema(fields), [field.name for field in fields]
        for lines, numbers in blocks_of(part):
            bad = take_bad_lines(lines, names) if self.may_be_no_text else BadRecords()
            yield batch_of_lines(lines, np.array(numbers, dtype=np.int64), schema, bad)
