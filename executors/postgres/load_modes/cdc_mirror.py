"""cdc_mirror: applies the changes of a table in another database, or all of its rows in the first load.

The last change of each key arrives: rows to insert or update are staged, deleted keys are beside them. Values that an
update has not changed, and that the log therefore lacks, are first filled from the table as it was before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from psycopg import sql

from executors.changes import ChangesRead
from executors.errors import Terminal
from executors.postgres import effects
from executors.postgres.ddl import Conn
from executors.postgres.evolution import evolve
from executors.postgres.key_match import own_rows, same_key
from executors.postgres.load_modes import upsert
from executors.postgres.load_modes.append import insert_staged
from executors.postgres.load_modes.base import LoadHandler
from executors.postgres.load_plan import LoadPlan, ModeCounts, winning_rows
from executors.postgres.names import identifier_of, own_rows_of
from executors.postgres.rewrite_rules import refuse_any_rule
from executors.postgres.staged_changes import CHANGE, UNCHANGED, key_column, require_beside
from executors.postgres.staging import is_winner
from executors.postgres.unique_keys import UniqueKey, find_unique_key
from executors.stage_plan import RECORD
from executors.types import wire_type


def _apply(conn: Conn, plan: LoadPlan) -> ModeCounts:
    followed = _followed(plan)
    plan = evolve(conn, plan)
    key = find_unique_key(conn, plan.target, plan.upsert_key)
    _require_comparable(plan, followed)
    require_beside(conn, plan.tables, followed, plan.run.node)
    _fill_unchanged(conn, plan, followed, key)
    if followed.truncates:
        # No CASCADE: a load must not empty other tables that refer to this one.
        conn.execute(sql.SQL("TRUNCATE TABLE {}").format(own_rows_of(plan.target, plan.dest.kind)))
    if followed.is_snapshot:
        removed = _delete_others(conn, plan, key)
        return replace(_write(conn, plan), removed=removed)
    deleted = _delete(conn, plan, followed, key)
    return replace(_write(conn, plan), deleted=deleted, absent=followed.deleted - deleted)


def _followed(plan: LoadPlan) -> ChangesRead:
    if plan.followed is None:
        raise Terminal(
            "cdc.no_changes",
            f"{plan.target} follows a table of another database, so only changes of that table are loaded.",
            node=plan.run.node,
            hint="Correct the row at its source. The next load then applies the change.",
        )
    return plan.followed


def _write(conn: Conn, plan: LoadPlan) -> ModeCounts:
    """Insert and update the staged rows. Without a row in the table, none of them can exist."""
    found = conn.execute(sql.SQL("SELECT EXISTS (SELECT FROM {})").format(own_rows(plan))).fetchone()
    return upsert.merge(conn, plan) if found and found[0] else insert_staged(conn, plan)


def _require_comparable(plan: LoadPlan, followed: ChangesRead) -> None:
    """Refuse a key that is a text on one side only: the log has the text of PostgreSQL, and the rows that of Flow."""
    for name in plan.upsert_key:
        if (plan.destination_column(name).type.kind == "string") != (name in followed.text_keys):
            raise Terminal(
                "cdc.key_type",
                f"The key column {name!r} of {plan.target} is {plan.destination_column(name).declared}, unlike at the "
                "source, so deletions cannot be matched.",
                node=plan.run.node,
                hint="Give the column of the table the type that it has at the source.",
            )


def _key_values(plan: LoadPlan, followed: ChangesRead) -> dict[str, sql.Composed]:
    """Return the values of a key beside the rows, as `c`, in the types of the table."""
    return {
        name: sql.SQL("{}.{}::{}").format(
            sql.Identifier("c"), key_column(place), sql.SQL(plan.destination_column(name).base)
        )
        for place, name in enumerate(followed.key)
    }


def _same_key(plan: LoadPlan, followed: ChangesRead, key: UniqueKey) -> sql.Composed:
    """Return a condition: the row `x` of the table has the key of the line `c`."""
    values = _key_values(plan, followed)
    return sql.SQL(" AND ").join(c.equals(sql.Identifier("x", c.name), values[c.name]) for c in key.columns)


def _delete(conn: Conn, plan: LoadPlan, followed: ChangesRead, key: UniqueKey) -> int:
    """Delete the rows that the source has deleted. Return how many the table had."""
    if not followed.deleted:
        return 0
    statement = sql.SQL("DELETE FROM {} AS x USING {} AS c WHERE c.{} IS NULL AND {}")
    table, change = identifier_of(plan.target), sql.Identifier(CHANGE)
    return conn.execute(statement.format(table, plan.tables.beside, change, _same_key(plan, followed, key))).rowcount


def _delete_others(conn: Conn, plan: LoadPlan, key: UniqueKey) -> int:
    """Delete the rows of the table that the source does not have."""
    statement = sql.SQL("DELETE FROM {} AS x WHERE NOT EXISTS (SELECT FROM {} AS s WHERE {})")
    return conn.execute(statement.format(identifier_of(plan.target), winning_rows(plan), same_key(plan, key))).rowcount


def _fill_unchanged(conn: Conn, plan: LoadPlan, followed: ChangesRead, key: UniqueKey) -> None:
    """Fill the staged rows with the values that their updates have not changed, before the table changes. Raises
    Terminal `cdc.value_missing` if the table has not all of these rows."""
    if not followed.incomplete:
        return
    assignments = list(_assignments(plan, followed))
    statement = sql.SQL(
        "UPDATE {staged} AS s SET {assignments} FROM {beside} AS c JOIN {table} AS x ON {same}"
        " WHERE s.{record} = c.{change} AND {wins}"
    ).format(
        staged=plan.tables.good_identifier,
        assignments=sql.SQL(", ").join(assignments),
        beside=plan.tables.beside,
        table=own_rows(plan),
        same=_same_key(plan, followed, key),
        record=sql.Identifier(RECORD),
        change=sql.Identifier(CHANGE),
        wins=is_winner(plan.winners, "s"),
    )
    found = conn.execute(statement).rowcount if assignments else followed.incomplete
    if found != followed.incomplete:
        raise Terminal(
            "cdc.value_missing",
            f"{followed.incomplete - found:,} of the updated rows are not in {plan.target}, and the log lacks their "
            "large values, which have not changed: somebody has deleted the rows, or a trigger prevented them.",
            node=plan.run.node,
            hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
        )


def _assignments(plan: LoadPlan, followed: ChangesRead) -> Iterator[sql.Composed]:
    staged = {column.name: column for column in plan.columns}
    for place, source in enumerate(followed.columns):
        for name in followed.copies.get(source, ()):
            if name in staged and name not in plan.upsert_key:
                kind = wire_type(staged[name].type).staged
                yield sql.SQL("{0} = CASE WHEN {1} = ANY (c.{2}) THEN x.{0}::{3} ELSE s.{0} END").format(
                    sql.Identifier(name), sql.Literal(place), sql.Identifier(UNCHANGED), sql.SQL(kind)
                )


HANDLER = LoadHandler(
    "cdc_mirror",
    ("INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE"),
    _apply,
    effect=effects.replaced,
    insert=upsert.insert_from,
    inspect=refuse_any_rule,
)
