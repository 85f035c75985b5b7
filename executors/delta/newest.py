"""The staged rows of a load with a key: one of each key, the newest."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from executors.accounting import describe_positions
from executors.delta.engine import Engine
from executors.delta.plan import DeltaPlan
from executors.delta.staged import read_staged, require_all
from executors.errors import InvalidContent
from executors.model import RecordRef
from executors.stage_plan import FILE, RECORD

MOST_REFS = 10


def values_of(plan: DeltaPlan) -> list[str]:
    return [column.name for column in plan.columns]


def key_of(plan: DeltaPlan, row: str) -> sql.Composable:
    return sql.SQL(", ").join(sql.Identifier(row, name) for name in plan.key)


def same_key(plan: DeltaPlan, one: str, other: str) -> sql.Composable:
    pairs = (sql.SQL("{} = {}").format(sql.Identifier(one, name), sql.Identifier(other, name)) for name in plan.key)
    return sql.SQL(" AND ").join(pairs)


def read_each(engine: Engine, plan: DeltaPlan) -> bool:
    """Make the table `staged` of all rows; return whether several have the same key. Of those, one is the newest."""
    with engine.reading("stream", read_staged(plan)):
        engine.run(sql.SQL("CREATE TEMP TABLE staged AS SELECT * FROM stream"))
    require_all(plan, engine.number(sql.SQL("SELECT count(*) FROM staged")))
    keys = sql.SQL("SELECT count(*) FROM (SELECT 1 FROM staged AS s GROUP BY {})").format(key_of(plan, "s"))
    if engine.number(keys) == plan.staged:
        return False
    _require_decided(engine, plan)
    return True


def read_newest(engine: Engine, plan: DeltaPlan) -> None:
    """Make the table `newest` of one row of each key."""
    if not read_each(engine, plan):
        engine.run(sql.SQL("ALTER TABLE staged RENAME TO newest"))
        return
    engine.run(
        sql.SQL(
            "CREATE TEMP TABLE newest AS SELECT * FROM staged AS s QUALIFY row_number() OVER"
            " (PARTITION BY {key} ORDER BY {order}s.{file} DESC, s.{record} DESC) = 1"
        ).format(key=key_of(plan, "s"), order=_order(plan), file=sql.Identifier(FILE), record=sql.Identifier(RECORD))
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
    return sql.SQL("count(*) OVER (PARTITION BY {}) > 1").format(key_of(plan, "s"))


def _same_record(plan: DeltaPlan) -> sql.Composable:
    places = sql.SQL(", ").join([sql.Identifier("s", FILE), sql.Identifier("s", RECORD)])
    return sql.SQL("count(*) OVER (PARTITION BY {}, {}) > 1").format(key_of(plan, "s"), places)


def _same_place(plan: DeltaPlan, order_by: str) -> sql.Composable:
    """Return the condition for rows that share the key and its highest place with rows of other values."""
    values = sql.SQL(", ").join(sql.Identifier("s", name) for name in values_of(plan))
    order = sql.Identifier("s", order_by)
    place = sql.SQL("{order} IS NOT DISTINCT FROM max({order}) OVER (PARTITION BY {key})").format(
        order=order, key=key_of(plan, "s")
    )
    content = sql.SQL("hash({})").format(values)
    differs = sql.SQL(
        "min({content}) OVER (PARTITION BY {key}, {order}) <> max({content}) OVER (PARTITION BY {key}, {order})"
    ).format(content=content, key=key_of(plan, "s"), order=order)
    return sql.SQL("({} AND {})").format(place, differs)


def count_newest(engine: Engine) -> int:
    return engine.number(sql.SQL("SELECT count(*) FROM newest"))
