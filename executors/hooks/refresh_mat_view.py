"""The `refresh_mat_view` hook."""

from __future__ import annotations

from typing import cast

from psycopg import errors, sql

from executors.errors import Terminal
from executors.hooks.base import HookCall, HookHandler
from executors.hooks.sql import execute, hook_session
from executors.postgres.names import identifier_of
from executors.table_name import TableName
from ir.hooks.base import BaseHook
from ir.hooks.refresh_mat_view import RefreshMatView


def _statement(hook: BaseHook) -> str:
    return _command(cast(RefreshMatView, hook)).as_string()


def _command(hook: RefreshMatView) -> sql.Composed:
    form = "REFRESH MATERIALIZED VIEW CONCURRENTLY {}" if hook.concurrently else "REFRESH MATERIALIZED VIEW {}"
    return sql.SQL(form).format(identifier_of(TableName.parse(hook.view)))


def refresh(call: HookCall) -> str:
    hook = cast(RefreshMatView, call.hook)
    with hook_session(call) as conn:
        try:
            return execute(conn, _command(hook))
        except errors.ObjectNotInPrerequisiteState as error:
            if not hook.concurrently:
                raise
            raise Terminal(
                "hook.view_not_unique",
                f"{hook.view} cannot be refreshed concurrently. It was never filled, or has no unique index on plain "
                "columns of all its rows.",
                hint="Create such an index, refresh it once without `concurrently`, or remove `concurrently`.",
            ) from error


HANDLER = HookHandler("refresh_mat_view", _statement, refresh)
