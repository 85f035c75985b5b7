"""upsert: rows with a known key are updated where they differ, the others are inserted."""

from __future__ import annotations

from executors.postgres.ddl import Conn
from executors.postgres.load_modes.base import LoadHandler
from executors.postgres.load_plan import LoadPlan, ModeCounts


def _merge(conn: Conn, plan: LoadPlan) -> ModeCounts:
    raise NotImplementedError


HANDLER = LoadHandler("upsert", ("INSERT", "SELECT", "UPDATE"), _merge)
