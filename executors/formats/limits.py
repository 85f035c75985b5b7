"""Limits on the memory for reading a file. A small file can expand to a large amount of data."""

from __future__ import annotations

from executors.errors import InvalidContent

MOST_COLUMNS = 5_000
"""Three times the maximum of a PostgreSQL table."""

BATCH_BYTES = 16 << 20
"""About the maximum size of the decoded rows of a batch; a single row may be larger."""

MOST_ROW_BYTES = 64 << 20

BATCH_CELLS = 4 << 20
"""The maximum number of cells of a batch: a NULL takes memory too."""


MOST_EXPANDED_BYTES = 100 << 30
"""The maximum size of the text in a compressed file. It is read as a stream, by one task."""

FREE_BYTES, MOST_RATIO = 1 << 30, 200
"""A compressed file may expand to FREE_BYTES, and beyond that to MOST_RATIO times its size."""


def rows_for_cells(columns: int) -> int:
    return max(1, BATCH_CELLS // max(1, columns))


def refuse_too_many_columns(name: str, columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise InvalidContent(
            "source.too_many_columns",
            f"{name} has {columns:,} columns; {MOST_COLUMNS:,} is the limit.",
            hint="Check the delimiter, or use fewer columns. Nested values count as one column.",
        )


def expands_too_much(name: str, what: str) -> InvalidContent:
    return InvalidContent(
        "source.expands_too_much",
        f"{name} cannot be read in bounded memory: {what}.",
        hint="Write the file with smaller row groups and pages, and with shorter values.",
    )
