"""upsert: updates rows whose key exists if they differ, and inserts the others.

Files with rows to update are written again with the new values, the others stay. All other columns of an updated row
stay as they are.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.transaction import RemoveAction
from psycopg import sql

from executors.accounting import describe_positions
from executors.delta.engine import Engine, open_engine
from executors.delta.plan import Change, DeltaPlan
from executors.delta.rows import NUMBER, files_of, read_file, read_numbered, removal
from executors.delta.staged import read_staged, require_all
from executors.delta.written import TableWriter
from executors.errors import InvalidContent, Terminal, Transient
from executors.model import RecordRef
from executors.rejected_rows import RowPosition
from executors.stage_plan import FILE, FILLED, RECORD
from ir.words import counted

MOST_REFS = 10


def upsert(plan: DeltaPlan, table: DeltaTable) -> Change:
    """Raises InvalidContent `upsert.key_repeated`, and Terminal `upsert.key_not_unique` for keys that the table has
    twice."""
    with open_engine(plan) as engine:
        _read_newest(engine, plan)
        newest = engine.number(sql.SQL("SELECT count(*) FROM newest"))
        files = files_of(table, plan.log.folder)
        paths = sorted(files)
        _match(engine, plan, paths)
        _require_allowed(engine, plan)
        writer = TableWriter(plan)
        removed = [_rewrite(engine, plan, writer, paths, number, files) for number in _numbers_to_rewrite(engine)]
        inserted = writer.write(engine.batches(_inserts(plan), plan.schema))
        updated, older = _count(engine, "differs AND NOT newer"), _count(engine, "newer")
        matched = _count(engine, "true")
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


# --- the staged rows -----------------------------------------------------------------------------------------------


def _read_newest(engine: Engine, plan: DeltaPlan) -> None:
    """Make the table `newest` of one row of each key."""
    with engine.reading("stream", read_staged(plan)):
        engine.run(sql.SQL("CREATE TEMP TABLE staged AS SELECT * FROM stream"))
    require_all(plan, engine.number(sql.SQL("SELECT count(*) FROM staged")))
    keys = sql.SQL("SELECT count(*) FROM (SELECT 1 FROM staged AS s GROUP BY {})").format(_key(plan, "s"))
    if engine.number(keys) == plan.staged:
        engine.run(sql.SQL("ALTER TABLE staged RENAME TO newest"))
        return
    _require_decided(engine, plan)
    engine.run(
        sql.SQL(
            "CREATE TEMP TABLE newest AS SELECT * FROM staged AS s QUALIFY row_number() OVER"
            " (PARTITION BY {key} ORDER BY {order}s.{file} DESC, s.{record} DESC) = 1"
        ).format(key=_key(plan, "s"), order=_order(plan), file=sql.Identifier(FILE), record=sql.Identifier(RECORD))
    )
    engine.run(sql.SQL("DROP TABLE staged"))


def _order(plan: DeltaPlan) -> sql.Composable:
    if plan.order_by is None:
        return sql.SQL("")
    return sql.SQL("{} DESC NULLS LAST, ").format(sql.Identifier("s", plan.order_by))


def _require_decided(engine: Engine, plan: DeltaPlan) -> None:
    """Refuse rows with the same key of which none is the last."""
    key = ", ".join(plan.key)
    if plan.is_exploded and (refs := _positions(engine, _same_record(plan))):
        raise _repeated(
            plan,
            refs,
            f"Rows that are exploded from one record have the same key ({key})",
            "Add a column that differs between the elements to upsertKey, for example that of indexAs.",
        )
    if plan.keeps_order:
        return
    advice = "Name the column whose highest value is the newest in orderBy, or make the key unique at the source."
    if plan.order_by is None:
        if refs := _positions(engine, _same_key(plan)):
            raise _repeated(plan, refs, f"Rows have the same key ({key}), and the source has no order", advice)
    elif refs := _positions(engine, _same_place(plan, plan.order_by)):
        why = f"the same {plan.order_by!r} and different values, so none of them is the last"
        raise _repeated(plan, refs, f"Rows have the same key ({key}), {why}", advice)


def _repeated(plan: DeltaPlan, refs: Sequence[RecordRef], what: str, hint: str) -> InvalidContent:
    places = describe_positions(refs, plan.names or {})
    return InvalidContent(
        "upsert.key_repeated", f"{what}: {places}.", node=plan.run.node, hint=f"The target was not loaded. {hint}"
    )


def _positions(engine: Engine, condition: sql.Composable) -> list[RecordRef]:
    query = sql.SQL("SELECT s.{file}, s.{record} FROM staged AS s QUALIFY {condition} ORDER BY 1, 2 LIMIT {most}")
    found = engine.rows(
        query.format(
            file=sql.Identifier(FILE), record=sql.Identifier(RECORD), condition=condition, most=sql.Literal(MOST_REFS)
        )
    )
    return [RecordRef(file, record) for file, record in found]


def _same_key(plan: DeltaPlan) -> sql.Composable:
    return sql.SQL("count(*) OVER (PARTITION BY {}) > 1").format(_key(plan, "s"))


def _same_record(plan: DeltaPlan) -> sql.Composable:
    places = sql.SQL(", ").join([sql.Identifier("s", FILE), sql.Identifier("s", RECORD)])
    return sql.SQL("count(*) OVER (PARTITION BY {}, {}) > 1").format(_key(plan, "s"), places)


def _same_place(plan: DeltaPlan, order_by: str) -> sql.Composable:
    """Return the condition for rows that share the key and its highest place with rows of other values."""
    values = sql.SQL(", ").join(sql.Identifier("s", name) for name in _values(plan))
    order = sql.Identifier("s", order_by)
    place = sql.SQL("{order} IS NOT DISTINCT FROM max({order}) OVER (PARTITION BY {key})").format(
        order=order, key=_key(plan, "s")
    )
    content = sql.SQL("hash({})").format(values)
    differs = sql.SQL(
        "min({content}) OVER (PARTITION BY {key}, {order}) <> max({content}) OVER (PARTITION BY {key}, {order})"
    ).format(content=content, key=_key(plan, "s"), order=order)
    return sql.SQL("({} AND {})").format(place, differs)


# --- the table -------------------------------------------------------------------------------------------------


def _match(engine: Engine, plan: DeltaPlan, paths: list[str]) -> None:
    """Make the table `matched` of the rows of the table whose key is staged: the number of their file and their key."""
    rows = read_numbered(plan.log.folder, paths, plan.schema)
    with engine.reading("stream", rows):
        engine.run(
            sql.SQL(
                "CREATE TEMP TABLE matched AS SELECT x.{number}, {keys}, s.{file}, s.{record}, ({differs}) AS differs,"
                " ({newer}) AS newer FROM stream AS x JOIN newest AS s ON {same}"
            ).format(
                number=sql.Identifier(NUMBER),
                file=sql.Identifier(FILE),
                record=sql.Identifier(RECORD),
                keys=_key(plan, "s"),
                differs=_differs(plan),
                newer=_newer(plan),
                same=_same(plan, "x", "s"),
            )
        )
    repeated = sql.SQL("SELECT count(*) FROM (SELECT 1 FROM matched AS m GROUP BY {} HAVING count(*) > 1)")
    if found := engine.number(repeated.format(_key(plan, "m"))):
        raise Terminal(
            "upsert.key_not_unique",
            f"{plan.log.folder.name} has several rows for {found:,} of the keys ({', '.join(plan.key)}) to load.",
            node=plan.run.node,
            hint="Delete the repeated rows, or add a column to upsertKey that distinguishes them.",
        )


def find_taken(plan: DeltaPlan, table: DeltaTable) -> Mapping[RowPosition, bool]:
    """Return the staged rows whose key exists in the table with other values, and whether the row of the table is
    newer."""
    with open_engine(plan) as engine:
        _read_newest(engine, plan)
        _match(engine, plan, sorted(files_of(table, plan.log.folder)))
        return _taken(engine)


def _taken(engine: Engine) -> Mapping[RowPosition, bool]:
    query = sql.SQL("SELECT {}, {}, newer FROM matched WHERE differs").format(
        sql.Identifier(FILE), sql.Identifier(RECORD)
    )
    return {(file, record): newer for file, record, newer in engine.rows(query)}


def _require_allowed(engine: Engine, plan: DeltaPlan) -> None:
    """Raise Transient `replay.keys_appeared` if the load would replace a row of the table that it may not replace."""
    if plan.may_replace is None:
        return
    others = [at for at, newer in _taken(engine).items() if newer or at not in plan.may_replace]
    if others:
        raise Transient(
            "replay.keys_appeared",
            f"{counted(len(others), 'row')} of {plan.log.folder.name} with the keys of replayed rows appeared or "
            "changed meanwhile.",
            node=plan.run.node,
            hint="Nothing was loaded. The next attempt compares the rows again.",
        )


def _differs(plan: DeltaPlan) -> sql.Composable:
    pairs = (
        sql.SQL("x.{0} IS DISTINCT FROM s.{0}").format(sql.Identifier(name))
        for name in _values(plan)
        if name not in plan.key
    )
    return sql.SQL(" OR ").join(pairs)


def _newer(plan: DeltaPlan) -> sql.Composable:
    """Return the condition that the row `x` of the table is newer than `s`. NULL is the lowest value."""
    if plan.order_by is None:
        return sql.SQL("false")
    return sql.SQL("x.{0} IS NOT NULL AND (s.{0} IS NULL OR x.{0} > s.{0})").format(sql.Identifier(plan.order_by))


def _numbers_to_rewrite(engine: Engine) -> list[int]:
    query = sql.SQL("SELECT DISTINCT {0} FROM matched WHERE differs AND NOT newer ORDER BY 1")
    return [number for (number,) in engine.rows(query.format(sql.Identifier(NUMBER)))]


def _rewrite(
    engine: Engine, plan: DeltaPlan, writer: TableWriter, paths: list[str], number: int, files: Mapping[str, int]
) -> RemoveAction:
    """Write a file again with the new values of its rows."""
    path = paths[number]
    given = {*_values(plan), *(name for name in FILLED if name in plan.schema.names)}
    chosen = sql.SQL(", ").join(
        sql.SQL(
            "CASE WHEN u.{number} IS NULL THEN x.{name} ELSE s.{name} END AS {name}" if name in given else "x.{name}"
        ).format(number=sql.Identifier(NUMBER), name=sql.Identifier(name))
        for name in plan.schema.names
    )
    query = sql.SQL(
        "SELECT {chosen} FROM stream AS x LEFT JOIN (SELECT * FROM matched WHERE {number} = {value} AND differs"
        " AND NOT newer) AS u ON {is_updated} LEFT JOIN newest AS s ON {same}"
    ).format(
        chosen=chosen,
        number=sql.Identifier(NUMBER),
        value=sql.Literal(number),
        is_updated=_same(plan, "x", "u"),
        same=_same(plan, "u", "s"),
    )
    rows = pa.RecordBatchReader.from_batches(plan.schema, read_file(plan.log.folder, path, plan.schema))
    with engine.reading("stream", rows):
        writer.write(engine.batches(query, plan.schema))
    return removal(path, files[path], int(time.time() * 1000))


def _inserts(plan: DeltaPlan) -> sql.Composable:
    columns = sql.SQL(", ").join(sql.Identifier("s", name) for name in plan.schema.names)
    return sql.SQL("SELECT {} FROM newest AS s WHERE NOT EXISTS (SELECT 1 FROM matched AS m WHERE {})").format(
        columns, _same(plan, "m", "s")
    )


def _count(engine: Engine, condition: str) -> int:
    return engine.number(sql.SQL("SELECT count(*) FROM matched WHERE {}").format(sql.SQL(condition)))


def _values(plan: DeltaPlan) -> list[str]:
    return [column.name for column in plan.columns]


def _key(plan: DeltaPlan, row: str) -> sql.Composable:
    return sql.SQL(", ").join(sql.Identifier(row, name) for name in plan.key)


def _same(plan: DeltaPlan, one: str, other: str) -> sql.Composable:
    pairs = (sql.SQL("{} = {}").format(sql.Identifier(one, name), sql.Identifier(other, name)) for name in plan.key)
    return sql.SQL(" AND ").join(pairs)
