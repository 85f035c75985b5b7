"""`notInFuture`: not later than the run's clock, in UTC. A value that is not a date or time fails."""

from __future__ import annotations

from datetime import UTC

import pyarrow as pa
import pyarrow.compute as pc

from executors.rules.base import Given, RowRuleHandler
from executors.rules.moments import NAIVE, moments_of
from ir.rules import NotInFuture


def violations(rule: NotInFuture, values: pa.Array, given: Given) -> pa.BooleanArray:
    moments, bad = moments_of(values)
    now = pa.scalar(given.now.astimezone(UTC).replace(tzinfo=None), NAIVE)
    return pc.or_(bad, pc.fill_null(pc.greater(moments, now), False))


def message(rule: NotInFuture) -> str:
    return "must be a date or time that is not in the future"


HANDLER = RowRuleHandler("notInFuture", violations, message)
