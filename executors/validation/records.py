"""The records of exploded rows. All rows of a record have one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from executors.validation.findings import Finding, Mask
from executors.validation.plan import ELEMENT, FILE, RECORD

MOST_NAMED = 3
"""The number of elements that a message lists. Further elements are counted."""


@dataclass(frozen=True, slots=True)
class Records:
    """`of` contains the record of each row, `rows` one row for each record. `field` is the exploded column."""

    of: np.ndarray[Any, Any]
    rows: pa.RecordBatch
    field: str

    @classmethod
    def in_batch(cls, batch: pa.RecordBatch, field: str) -> Records:
        """Return the records of a batch, in which the rows of a record are adjacent."""
        places = [batch.column(name).to_numpy(zero_copy_only=False) for name in (FILE, RECORD)]
        begins = np.ones(batch.num_rows, dtype=bool)
        begins[1:] = np.logical_or.reduce([place[1:] != place[:-1] for place in places])
        return cls(np.cumsum(begins) - 1, batch.filter(pa.array(begins)), field)

    def where(self, mask: Mask) -> Records:
        """Return the records of the marked rows."""
        return replace(self, of=self.of[mask])

    def count(self, mask: Mask) -> int:
        """Return the number of records with a marked row."""
        return len(np.unique(self.of[mask]))

    def spread(self, mask: Mask) -> Mask:
        """Mark all rows of records that have a marked one."""
        marked = np.zeros(self.rows.num_rows, dtype=bool)
        marked[self.of[mask]] = True
        spread: Mask = marked[self.of]
        return spread

    def first(self, mask: Mask) -> np.ndarray[Any, np.dtype[np.intp]]:
        """Return the first marked row of each record with a marked row."""
        marked = np.flatnonzero(mask)
        return marked[np.unique(self.of[marked], return_index=True)[1]]


def one_of_each_record(records: Records, batch: pa.RecordBatch, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with one violation for each record. Its message lists the elements."""
    places = batch.column(ELEMENT).to_pylist()
    return [_one_of_each(records, places, finding) for finding in findings]


def _one_of_each(records: Records, places: Sequence[int | None], finding: Finding) -> Finding:
    firsts, mask = records.first(finding.mask), np.zeros(len(finding.mask), dtype=bool)
    mask[firsts] = True
    elements: dict[int, list[int]] = {}
    for row in np.flatnonzero(finding.mask).tolist():
        if (place := places[row]) is not None:
            elements.setdefault(int(records.of[row]), []).append(place)
    own = {}
    for row in firsts.tolist():
        message = finding.own.get(row, finding.message)
        if message is not None and (named := elements.get(int(records.of[row]))):
            own[row] = f"{message} ({_named(records.field, named)})"
        elif message is not None and row in finding.own:
            own[row] = message
    return replace(finding, mask=mask, own=own)


def _named(field: str, elements: Sequence[int]) -> str:
    shown = ", ".join(f"{field}[{element}]" for element in elements[:MOST_NAMED])
    more = len(elements) - MOST_NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown
