"""Use the control database's clock, so that machines with wrong clocks agree on leases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import functions
from django.db.models.expressions import Combinable


class Now(functions.Now):  # noqa: TID251
    """The time of the control database. SQLite stores times as texts; with as many digits as Django writes for times of
    Python, the texts compare as the times do."""

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "REPLACE(STRFTIME('%%%%Y-%%%%m-%%%%d %%%%H:%%%%M:%%%%f', 'NOW') || '000', '.000000', '')"
        return self.as_sql(compiler, connection, template=template, **context)


def from_now(seconds: float) -> Combinable:
    """Return an SQL expression for the time that many seconds from now; negative values are in the past."""
    return Now() + timedelta(seconds=seconds)
