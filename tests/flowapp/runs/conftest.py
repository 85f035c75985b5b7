"""A target table, and a clock that passes at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from psycopg import sql

from executors.model import Connection
from tests.databases import connect_to
from tests.flowapp.web.conftest import as_, person

if TYPE_CHECKING:
    from flowapp.runs.models import Run


__all__ = ["as_", "person"]


@pytest.fixture
def target(warehouse: Connection, schema: str) -> Iterator[Callable[[], int]]:
    """The empty target table; calling it counts its rows."""
    connection = connect_to(warehouse)
    table = sql.Identifier(schema, "numbers")
    with connection:
        connection.execute(sql.SQL("CREATE TABLE {} (id integer)").format(table))
        yield lambda: connection.execute(sql.SQL("SELECT count(*) FROM {}").format(table)).fetchone()[0]


@pytest.fixture
def expire() -> Callable[[Run], None]:
    """Return a function that lets the lease of a run expire."""
    from flowapp.clock import from_now
    from flowapp.runs.models import Run

    return lambda run: Run.objects.filter(pk=run.pk).update(lease_until=from_now(-1)) and None


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of runs that were handed to the broker, which is not there."""
    from flowapp.celery import app

    ids: list[str] = []
    monkeypatch.setattr(app, "send_task", lambda name, args: ids.append(args[0]))
    return ids
