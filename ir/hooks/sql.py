"""The `sql` hook: one statement for table maintenance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from ir.base import Text
from ir.diagnostics import Diagnostic, diagnose
from ir.hooks.base import BaseHook, Stage
from ir.pointers import Pointer
from ir.queries import Query
from ir.sql_guard import StatementRefused, read_hook_statement


class SqlHook(BaseHook):
    """Runs one maintenance statement. Names without a schema are looked up in the schema of the target."""

    needs_admin: ClassVar[bool] = True
    type: Literal["sql"]
    statement: Text = Field(
        description="One maintenance statement. Only admins may save it.",
        examples=["ANALYZE orders"],
        json_schema_extra={"multiline": True},
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        try:
            read_hook_statement(self.statement)
        except StatementRefused as error:
            yield diagnose(error.code, at / "statement", error.message)

    def check_stage(self, stage: Stage, at: Pointer) -> Iterator[Diagnostic]:
        if stage != "preHook" and self.setting is not None:
            yield diagnose("hook.set_after_load", at / "statement", "SET after the load has no effect.")

    @property
    def explained(self) -> Query | None:
        """Return the query of an EXPLAIN; None for other statements and for refused ones."""
        try:
            return read_hook_statement(self.statement).explained
        except StatementRefused:
            return None

    @property
    def setting(self) -> tuple[str, str] | None:
        """Return the parameter of a SET; None for other statements and for refused ones."""
        try:
            return read_hook_statement(self.statement).setting
        except StatementRefused:
            return None
