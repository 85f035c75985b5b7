"""upsert: updates rows whose key exists if they differ, and inserts the others.

Files with rows to update are written again with the new values, the others stay. All other columns of an updated row
stay as they are.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.transaction import RemoveAction
from psycopg import sql

from executors.delta.engine import Engine, open_engine
from executors.delta.matching import CHANGED, NEWER, count_matched, differs, is_newer, match, require_allowed
from executors.delta.newest import count_newest, read_newest, same_key, values_of
from executors.delta.plan import Change, DeltaPlan
from executors.delta.rows import NUMBER, files_of, read_file, removal
from executors.delta.written import TableWriter
from executors.errors import Terminal
from executors.stage_plan import FILE, FILLED


def upsert(plan: DeltaPlan, table: DeltaTable) -> Change:
    """Raises InvalidContent `upsert.key_repeated`, and Terminal `upsert.key_not_unique` for keys that the table has
    twice."""
    with open_engine(plan) as engine:
        read_newest(engine, plan)
        newest = count_newest(engine)
        files = files_of(table, plan.log.folder)
        paths = sorted(files)
        match(engine, plan, paths)
        require_allowed(engine, plan)
        writer = TableWriter(plan)
        removed = [_rewrite(engine, plan, writer, paths, number, files) for number in _numbers_to_rewrite(engine)]
        inserted = writer.write(engine.batches(_inserts(plan), plan.schema))
        updated, older = count_matched(engine, CHANGED), count_matched(engine, NEWER)
        matched = count_matched(engine, "true")
        if inserted != newest - matched:
            raise Terminal(
                "rows.lost", f"{newest - matched:,} rows are new, {inserted:,} were written.", node=plan.run.node
            )
        return Change(
            writer.added,
            removed,
            inserted=inserted,
            updated=updated,
            unchanged=matched - updated - older,
            replaced=plan.staged - newest,
            older=older,
        )


def _numbers_to_rewrite(engine: Engine) -> list[int]:
    query = sql.SQL("SELECT DISTINCT {} FROM matched WHERE {} ORDER BY 1")
    return [number for (number,) in engine.rows(query.format(sql.Identifier(NUMBER), sql.SQL(CHANGED)))]


def _rewrite(
    engine: Engine, plan: DeltaPlan, writer: TableWriter, paths: list[str], number: int, files: Mapping[str, int]
) -> RemoveAction:
    """Write a file again with the new values of its rows."""
    path = paths[number]
    given = {*values_of(plan), *(name for name in FILLED if name in plan.schema.names)}
    is_updated = sql.SQL("s.{} IS NOT NULL AND ({}) AND NOT ({})").format(
        sql.Identifier(FILE), differs(plan), is_newer(plan)
    )
    chosen = sql.SQL(", ").join(
        sql.SQL("CASE WHEN {0} THEN s.{1} ELSE x.{1} END AS {1}" if name in given else "x.{1}").format(
            is_updated, sql.Identifier(name)
        )
        for name in plan.schema.names
    )
    query = sql.SQL("SELECT {} FROM stream AS x LEFT JOIN newest AS s ON {}").format(chosen, same_key(plan, "x", "s"))
    rows = pa.RecordBatchReader.from_batches(plan.schema, read_file(plan.log.folder, path, plan.schema))
    with engine.reading("stream", rows):
        writer.write(engine.batches(query, plan.schema))
    return removal(path, files[path], int(time.time() * 1000))


def _inserts(plan: DeltaPlan) -> sql.Composable:
    columns = sql.SQL(", ").join(sql.Identifier("s", name) for name in plan.schema.names)
    return sql.SQL("SELECT {} FROM newest AS s WHERE NOT EXISTS (SELECT 1 FROM matched AS m WHERE {})").format(
        columns, same_key(plan, "m", "s")
    )
