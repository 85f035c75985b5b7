"""Computes what a load would change, in a transaction that cannot write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from psycopg import sql

from executors.effects import Effect, NullRates
from executors.errors import InvalidContent
from executors.postgres import effects
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, brief_transaction
from executors.postgres.inspect import require_privileges
from executors.postgres.load_modes import load_handler
from executors.postgres.load_plan import LoadPlan
from executors.postgres.names import identifier_of
from executors.postgres.refusals import Refusal, prepare
from executors.postgres.repeats import list_repeats
from executors.postgres.replacing import count_replaced
from executors.postgres.staging import is_winner, one_number, require_staging
from ir.words import counted


def count_effect(conn: Conn, plan: LoadPlan) -> Effect:
    """Return what `plan` would change in its target. Raises Transient `staging.lost`."""
    require_privileges(conn, plan.dest, ["SELECT"])
    with _looking(conn, plan):
        return _effect(conn, plan)


def count_null_rates(conn: Conn, plan: LoadPlan) -> dict[str, NullRates]:
    """Return the NULL rates, by column, in the target and in staging; empty if one of them has no row."""
    require_privileges(conn, plan.dest, ["SELECT"])
    with _looking(conn, plan):
        return effects.null_rates(conn, plan)


def evaluate_locked(conn: Conn, plan: LoadPlan, *, compares_nulls: bool) -> tuple[Effect, dict[str, NullRates]]:
    """Return what `plan` would change and, if asked, the NULL rates, in the load's own transaction.

    Writers wait until it ends, so that the load makes exactly these changes. A mode that only adds rows may lack the
    privilege to lock out writers, and needs no lock, because it removes no rows.
    """
    handler = load_handler(plan.load_mode)
    deletes_range = plan.replaced is not None and plan.replaced.deletes
    if deletes_range or {"DELETE", "TRUNCATE", "UPDATE"}.intersection(handler.privileges):
        conn.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(identifier_of(plan.target)))
    return _effect(conn, plan), effects.null_rates(conn, plan) if compares_nulls else {}


def _effect(conn: Conn, plan: LoadPlan) -> Effect:
    effect = load_handler(plan.load_mode).effect(conn, plan)
    if plan.replaced is None or not plan.replaced.deletes:
        return effect
    return replace(effect, range_deleted=count_replaced(conn, plan.run, plan.dest, plan.replaced))


def refuse_repeats(conn: Conn, plan: LoadPlan) -> None:
    """Raise the failure of a load whose rows repeat a value that must be unique. Call it where such rows abort the
    load."""
    with _looking(conn, plan, list_repeats) as repeats:
        for repeat in repeats:
            prepare(conn, repeat)
            query = sql.SQL("SELECT count(*) FROM {} AS s WHERE {} AND {}").format(
                plan.tables.good_identifier, is_winner(plan.winners, "s"), repeat.condition
            )
            if count := one_number(conn, query):
                raise InvalidContent(
                    "target.constraint",
                    f"{plan.target} would refuse {counted(count, 'row')}: each {repeat.message}.",
                    node=plan.run.node,
                    hint="Correct the source, or set onTypeMismatch to skip to reject such rows.",
                )


@contextmanager
def _looking(
    conn: Conn, plan: LoadPlan, make_ready: Callable[[Conn, LoadPlan], list[Refusal]] = lambda conn, plan: []
) -> Iterator[list[Refusal]]:
    """Run all queries of the block on one snapshot. The database refuses writes to all tables except the temporary ones
    that `make_ready` has created."""
    with translate(plan.run.node), brief_transaction(conn):
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        ready = make_ready(conn, plan)
        conn.execute("SET TRANSACTION READ ONLY")
        require_staging(conn, plan.tables, plan.winners, plan.staged, plan.rejected, plan.run.node)
        yield ready
