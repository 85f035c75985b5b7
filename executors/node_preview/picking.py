"""Selects rows of scanned files: the first ones, or random ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from executors.formats.batches import Batches
from executors.formats.closing import closed_after
from executors.model import SourceField, Split
from executors.reading import PartReader, Reading

Places = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class PickedRows:
    """Reads the rows at the given positions of each split, counted from 0, and stops after the last of them."""

    reader: PartReader
    places: Mapping[tuple[int, int], Places]

    def read(self, part: Split, fields: Sequence[SourceField]) -> Batches:
        places, at = self.places[_key(part)], 0
        with closed_after(self.reader.read(part, fields)) as batches:
            for batch in batches:
                here = places[(places >= at) & (places < at + batch.num_rows)] - at
                yield batch.take(pa.array(here))
                at += batch.num_rows
                if at > places[-1]:
                    return


def pick_first(reading: Reading, most: int) -> Reading:
    """Return a reading of the first rows of files."""
    return _pick(reading, np.arange(min(most, _records_of(reading)), dtype=np.int64))


def pick_random(reading: Reading, most: int, seed: int) -> Reading:
    """Return a reading of random rows. Each row has the same probability. The same seed selects the same rows."""
    records = _records_of(reading)
    chosen = np.random.default_rng(seed).choice(records, min(most, records), replace=False)
    return _pick(reading, np.sort(chosen).astype(np.int64))


def _records_of(reading: Reading) -> int:
    return reading.records or 0


def _pick(reading: Reading, chosen: Places) -> Reading:
    """Return a reading of the rows at these positions, counted over all splits."""
    before, places, parts = 0, {}, []
    for split in _splits(reading):
        here = chosen[(chosen >= before) & (chosen < before + split.records)] - before
        before += split.records
        if len(here):
            places[_key(split)] = here
            parts.append(split)
    return replace(reading, parts=tuple(parts), reader=PickedRows(reading.reader, places), records=len(chosen))


def _splits(reading: Reading) -> list[Split]:
    return [part for part in reading.parts if isinstance(part, Split)]


def _key(split: Split) -> tuple[int, int]:
    return split.file.seq, split.start
