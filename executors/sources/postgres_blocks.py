"""The ranges of blocks in which a table of PostgreSQL is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from executors.formats.files import SPLIT_BYTES
from ir.connectors.postgres import SourceTable

MOST_PARTS = 64

_LEAST_ROW_BYTES = 28
"""A row takes at least 24 bytes, and the pointer to it 4."""

_BY_BLOCKS = 140000
"""From this server version on, a range of ctid reads only those blocks."""

# Only tables in a heap have blocks that a ctid addresses. Tables that inherit from one have blocks of their own, which
# are covered by the same ranges.
_HEAP = """
WITH RECURSIVE tree AS (
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'm')
    UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree t ON i.inhparent = t.oid
)
SELECT max(pg_relation_size(c.oid)), current_setting('block_size')::int, count(*), sum(pg_table_size(c.oid))
FROM tree JOIN pg_class c ON c.oid = tree.oid LEFT JOIN pg_am a ON a.oid = c.relam
HAVING bool_and(a.amname IS NOT DISTINCT FROM 'heap')"""


@dataclass(frozen=True)
class Heap:
    """A table and those that inherit from it: `bytes` with their long values, the `blocks` of the largest of them,
    and whether the server can read a range of blocks alone."""

    bytes: int
    blocks: int
    block_bytes: int
    tables: int
    has_ranges: bool


@dataclass(frozen=True)
class BlockRange:
    """The blocks from `start` to before `end`, whose rows are numbered from `first_row` on."""

    start: int
    end: int
    first_row: int
    conditions: Sequence[sql.Composable] = ()


def find_heap(conn: psycopg.Connection, table: SourceTable) -> Heap | None:
    """Return None for a view, and for a table that is not in a heap."""
    row = conn.execute(_HEAP, [table.schema_, table.name]).fetchone()
    if row is None or row[0] is None:
        return None
    size, block, tables, total = row
    return Heap(int(total), -(-size // block), block, tables, conn.info.server_version >= _BY_BLOCKS)


def divide(heap: Heap | None) -> Iterator[BlockRange]:
    """Yield ranges that together have all rows; one range if the blocks are unknown."""
    if heap is None or not heap.has_ranges:
        yield BlockRange(0, 1, 1)
        return
    step = max(SPLIT_BYTES // heap.block_bytes, -(-heap.blocks // MOST_PARTS), 1)
    most_rows = heap.block_bytes // _LEAST_ROW_BYTES * heap.tables
    for start in range(0, max(heap.blocks, 1), step):
        is_last = start + step >= heap.blocks
        end = max(heap.blocks, start + 1) if is_last else start + step
        conditions = [] if step >= heap.blocks else _between(start, None if is_last else end)
        yield BlockRange(start, end, start * most_rows + 1, conditions)


def _between(start: int, end: int | None) -> Sequence[sql.Composable]:
    conditions = [sql.SQL("q.ctid >= {}::tid").format(sql.Literal(f"({start},0)"))]
    if end is not None:
        conditions.append(sql.SQL("q.ctid < {}::tid").format(sql.Literal(f"({end},0)")))
    return conditions
