"""The rows of a table with the keys of staged rows."""

from __future__ import annotations

from collections.abc import Mapping

from deltalake import DeltaTable
from psycopg import sql

from executors.delta.engine import Engine, open_engine
from executors.delta.newest import key_of, read_each, same_key, values_of
from executors.delta.plan import DeltaPlan
from executors.delta.rows import NUMBER, files_of, read_numbered
from executors.errors import Terminal, Transient
from executors.rejected_rows import RowPosition
from executors.stage_plan import FILE, RECORD
from ir.words import counted

CHANGED, NEWER = "_flow_differs AND NOT _flow_newer", "_flow_newer"
"""Conditions on rows of `matched`: the load changes the row of the table; that row is newer and stays."""


def match(
    engine: Engine, plan: DeltaPlan, paths: list[str], *, staged: str = "newest", with_values: bool = False
) -> None:
    """Make the table `matched` of the rows of the table whose key is among the rows of `staged`: the number of their
    file and their key, and if asked, their values in the columns of `old_name`."""
    existing = [sql.SQL(", x.{} AS {}").format(sql.Identifier(n), sql.Identifier(old_name(n))) for n in values_of(plan)]
    rows = read_numbered(plan.log.folder, paths, plan.schema)
    with engine.reading("stream", rows):
        engine.run(
            sql.SQL(
                "CREATE TEMP TABLE matched AS SELECT x.{number}, {keys}, s.{file}, s.{record},"
                " ({differs}) AS _flow_differs, ({newer}) AS _flow_newer{existing}"
                " FROM stream AS x JOIN {staged} AS s ON {same}"
            ).format(
                number=sql.Identifier(NUMBER),
                file=sql.Identifier(FILE),
                record=sql.Identifier(RECORD),
                keys=key_of(plan, "s"),
                existing=sql.SQL("").join(existing if with_values else ()),
                differs=differs(plan),
                newer=is_newer(plan),
                staged=sql.Identifier(staged),
                same=same_key(plan, "x", "s"),
            )
        )
    repeated = sql.SQL(
        "SELECT count(*) FROM (SELECT DISTINCT {key} FROM matched AS m GROUP BY {key}, {file}, {record}"
        " HAVING count(*) > 1)"
    ).format(key=key_of(plan, "m"), file=sql.Identifier(FILE), record=sql.Identifier(RECORD))
    if found := engine.number(repeated):
        raise Terminal(
            "upsert.key_not_unique",
            f"{plan.log.folder.name} has several rows for {found:,} of the keys ({', '.join(plan.key)}) to load.",
            node=plan.run.node,
            hint="Delete the repeated rows, or add a column to upsertKey that distinguishes them.",
        )


def old_name(column: str) -> str:
    """Return the name of the column with the values of the table."""
    return f"_flow_old_{column}"


def find_taken(plan: DeltaPlan, table: DeltaTable) -> Mapping[RowPosition, bool]:
    """Return the staged rows whose key exists in the table with other values, and whether the row of the table is
    newer. Each row is compared, not only the newest of its key, because without that one, the next is the newest."""
    with open_engine(plan) as engine:
        read_each(engine, plan)
        match(engine, plan, sorted(files_of(table, plan.log.folder)), staged="staged")
        return taken(engine)


def taken(engine: Engine) -> Mapping[RowPosition, bool]:
    query = sql.SQL("SELECT {}, {}, _flow_newer FROM matched WHERE _flow_differs").format(
        sql.Identifier(FILE), sql.Identifier(RECORD)
    )
    return {(file, record): newer for file, record, newer in engine.rows(query)}


def require_allowed(engine: Engine, plan: DeltaPlan) -> None:
    """Raise Transient `replay.keys_appeared` if the load would replace a row of the table that it may not replace."""
    if plan.may_replace is None:
        return
    others = [at for at, newer in taken(engine).items() if newer or at not in plan.may_replace]
    if others:
        raise Transient(
            "replay.keys_appeared",
            f"{counted(len(others), 'row')} of {plan.log.folder.name} with the keys of replayed rows appeared or "
            "changed meanwhile.",
            node=plan.run.node,
            hint="Nothing was loaded. The next attempt compares the rows again.",
        )


def differs(plan: DeltaPlan) -> sql.Composable:
    pairs = (
        sql.SQL("x.{0} IS DISTINCT FROM s.{0}").format(sql.Identifier(name))
        for name in values_of(plan)
        if name not in plan.key
    )
    return sql.SQL(" OR ").join(pairs)


def is_newer(plan: DeltaPlan) -> sql.Composable:
    """Return the condition that the row `x` of the table is newer than `s`. NULL is the lowest value."""
    if plan.order_by is None:
        return sql.SQL("false")
    return sql.SQL("x.{0} IS NOT NULL AND (s.{0} IS NULL OR x.{0} > s.{0})").format(sql.Identifier(plan.order_by))


def count_matched(engine: Engine, condition: str) -> int:
    return engine.number(sql.SQL("SELECT count(*) FROM matched WHERE {}").format(sql.SQL(condition)))
