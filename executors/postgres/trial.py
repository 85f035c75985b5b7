"""Finds rows that only their INSERT shows to be refused: no partition accepts them, a trigger raises, a policy or the
check of a partition refuses them, or an expression of an index fails.

The search runs only after a load has failed because of such a row: each staged row is inserted alone and rolled back.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import psycopg
from psycopg import sql

from executors.errors import Failure
from executors.model import RecordRef, TaskCount
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, brief_transaction
from executors.postgres.failures import FUNCTION_IN_CONTEXT
from executors.postgres.load_modes import load_handler
from executors.postgres.load_plan import LoadPlan
from executors.postgres.refusals import Refusal
from executors.postgres.refused import MOST_POSITIONS, refuse_for
from executors.postgres.staging import is_winner
from executors.stage_plan import FILE, RECORD
from ir.load_modes import load_mode

_ABOUT_ROWS = re.compile(r"22|23|44|54000|P0001")
_POLICY = "42501"
_FOREIGN_KEY, _UNIQUE, _EXCLUSION = "23503", "23505", "23P01"

_TRIED = sql.Identifier("pg_temp", "flow_tried")

_TRIAL = """
DO $flow_trial$
#variable_conflict use_column
DECLARE
    _flow_row {good}%ROWTYPE;
    _flow_n bigint := 0;
    _flow_c text; _flow_f text; _flow_t text; _flow_x text;
BEGIN
    FOR _flow_row IN SELECT s.* FROM {good} AS s WHERE {winner} {order} LOOP
        BEGIN
            {insert};
            RAISE EXCEPTION USING ERRCODE = 'FLOW0';
        EXCEPTION WHEN SQLSTATE 'FLOW0' THEN NULL;
        WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS _flow_c = CONSTRAINT_NAME, _flow_f = COLUMN_NAME, _flow_t = TABLE_NAME,
                _flow_x = PG_EXCEPTION_CONTEXT;
            IF SQLSTATE !~ {states} THEN RAISE; END IF;
            IF SQLSTATE <> ALL ({ignored}) THEN
                INSERT INTO {tried} VALUES (_flow_row.{file}, _flow_row.{record}, SQLSTATE, _flow_c, _flow_f, _flow_t,
                    substring(_flow_x FROM {function}));
                _flow_n := _flow_n + 1;
                EXIT WHEN _flow_n >= {most};
            END IF;
        END;
    END LOOP;
END $flow_trial$"""

_COLUMNS = "file integer, record bigint, state text, what text, field text, place text, function text"


@translate()
def refuse_tried(conn: Conn, plan: LoadPlan, failure: Failure) -> TaskCount | None:
    """Remove the rows that made a load fail from staging. Return None if no single row is refused. The result is that
    of `refuse_rows`."""
    state, plan = _state_about_rows(failure), _without_added(plan)
    if state is None or plan.changes or not _may_try(conn):
        return None
    with brief_transaction(conn):
        _try_rows(conn, plan, state)
        refusals = [_refusal(plan, *row) for row in conn.execute(_reasons()).fetchall()]
        return refuse_for(conn, plan, refusals) if refusals else None


def find_tried(conn: Conn, plan: LoadPlan, failure: Failure) -> tuple[RecordRef, ...]:
    """Return the positions of the first staged rows that made a load fail. Nothing is changed."""
    state, plan = _state_about_rows(failure), _without_added(plan)
    if state is None or plan.changes or not _may_try(conn):
        return ()
    with brief_transaction(conn, force_rollback=True):
        _try_rows(conn, plan, state, most=MOST_POSITIONS)
        rows = conn.execute(sql.SQL("SELECT file, record FROM {} ORDER BY 1, 2").format(_TRIED)).fetchall()
    return tuple(RecordRef(file, record) for file, record in rows)


def _without_added(plan: LoadPlan) -> LoadPlan:
    """Return the plan without the columns that the load adds: the table does not have them now, and no value of them is
    refused. Rows cannot be tried in a table whose columns change otherwise."""
    added = {change.column for change in plan.changes if change.kind == "add"}
    return replace(
        plan,
        columns=[column for column in plan.columns if column.name not in added],
        changes=[change for change in plan.changes if change.kind in ("rename", "widen")],
    )


def _state_about_rows(failure: Failure) -> str | None:
    """Return the SQLSTATE of a failed statement if it concerns a single row, so that other rows may succeed."""
    error = failure.__cause__
    if not isinstance(error, psycopg.Error) or error.sqlstate is None or error.sqlstate == _FOREIGN_KEY:
        return None
    if error.sqlstate == _POLICY:
        return _POLICY if "row-level security" in (error.diag.message_primary or "") else None
    return error.sqlstate if _ABOUT_ROWS.match(error.sqlstate) else None


def _may_try(conn: Conn) -> bool:
    row = conn.execute("SELECT has_database_privilege(current_database(), 'TEMPORARY')").fetchone()
    return row == (True,)


def _try_rows(conn: Conn, plan: LoadPlan, state: str, most: int | None = None) -> None:
    for name, value in plan.settings.items():
        conn.execute("SELECT set_config(%s, %s, true)", [name, value])
    conn.execute(sql.SQL("CREATE TEMPORARY TABLE {} ({}) ON COMMIT DROP").format(_TRIED, sql.SQL(_COLUMNS)))
    # A row that refers to another row of its batch does not find it. Repeated keys are detectable only if the table's
    # rows are not replaced.
    ignored = [_FOREIGN_KEY, *((_UNIQUE, _EXCLUSION) if load_mode(plan.load_mode).replaces_all_rows else ())]
    conn.execute(
        sql.SQL(_TRIAL).format(
            good=plan.tables.good_identifier,
            winner=is_winner(plan.winners, "s"),
            order=sql.SQL("ORDER BY s.{}, s.{}" if most else "").format(sql.Identifier(FILE), sql.Identifier(RECORD)),
            insert=load_handler(plan.load_mode).insert(conn, plan, sql.SQL("(SELECT (_flow_row).*)")),
            states=sql.Literal(f"^({_ABOUT_ROWS.pattern}{f'|{_POLICY}' if state == _POLICY else ''})"),
            ignored=sql.SQL("{}::text[]").format(sql.Literal(ignored)),
            tried=_TRIED,
            function=sql.Literal(f"(?n){FUNCTION_IN_CONTEXT}"),
            file=sql.Identifier(FILE),
            record=sql.Identifier(RECORD),
            most=sql.Literal(most),
        )
    )


def _reasons() -> sql.Composed:
    return sql.SQL(
        "SELECT DISTINCT t.state, t.what, t.field, t.place, t.function FROM {} AS t ORDER BY 1, 2, 3, 4, 5"
    ).format(_TRIED)


def _refusal(plan: LoadPlan, state: str, what: str, field: str, relation: str, function: str | None) -> Refusal:
    kind, name, message = _describe(state, what, field, relation or plan.target.table, function)
    condition = sql.SQL(
        "EXISTS (SELECT FROM {} AS k WHERE k.file = s.{} AND k.record = s.{} AND (k.state, k.what, k.field, k.place)"
        " = ({}, {}, {}, {}) AND k.function IS NOT DISTINCT FROM {})"
    ).format(
        _TRIED,
        sql.Identifier(FILE),
        sql.Identifier(RECORD),
        *map(sql.Literal, (state, what, field, relation, function)),
    )
    return Refusal(kind, name, field or None, message, condition)


def _describe(state: str, what: str, field: str, relation: str, function: str | None) -> tuple[str, str, str]:
    """Return kind, name and message."""
    if state == "23514" and not what:
        return "partition", relation, f"fits no partition of {relation!r}"
    if state in _BY_CONSTRAINT:
        kind, message = _BY_CONSTRAINT[state]
        return kind, what or field or relation, message(what)
    if function is not None:
        return "trigger", function, f"is refused by the function {function} (SQLSTATE {state})"
    return "value", field or state, f"makes an expression of the table fail (SQLSTATE {state})"


_BY_CONSTRAINT: dict[str, tuple[str, Callable[[str], str]]] = {
    "23502": ("notNull", lambda name: "must not be empty"),
    "23514": ("check", lambda name: f"breaks the check constraint {name!r}"),
    _UNIQUE: ("unique", lambda name: f"repeats a key of the unique index {name!r}"),
    _EXCLUSION: ("exclusion", lambda name: f"violates the exclusion constraint {name!r}"),
    _POLICY: ("policy", lambda name: "violates a row security policy"),
    "54000": ("size", lambda name: "is too large for an index of the table"),
}
