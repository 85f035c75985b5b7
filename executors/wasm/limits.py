"""All limits of custom transforms. They apply to each call of a module; the documentation repeats them."""

from __future__ import annotations

MEMORY_BYTES = 128 << 20
"""The largest memory of an instance."""
TABLE_ELEMENTS = 100_000
ROWS_PER_CALL = 4096
BYTES_PER_CALL = 4 << 20
"""The largest size of the rows of a call, in memory. A single row may be larger, if the memory suffices."""
FUEL_PER_CALL = 200_000_000
FUEL_PER_ROW = 2_000_000
"""Fuel is about the number of instructions. It ends the same call at the same instruction on every machine."""
SECONDS_PER_CALL = 60
"""A call that takes longer ends the attempt: whether it does depends on the machine, so it must not reject a row."""
MOST_FAILING_ROWS = 100
"""The largest number of rows of one batch for which the module may fail. With more, the module is broken, not the
values. Rows that it rejects in `_error` do not count."""
OUTPUT_BYTES = 64 << 20
"""The largest result of a call."""
LOG_BYTES = 2000
"""How much of what a module writes to standard error is shown when it fails."""
MESSAGE_CHARACTERS = 500
"""The longest message for which a module rejects a row. Longer ones are cut."""


def fuel_for(rows: int) -> int:
    return FUEL_PER_CALL + rows * FUEL_PER_ROW
