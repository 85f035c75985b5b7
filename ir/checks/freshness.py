"""`freshness`."""

from __future__ import annotations

from pydantic import Field

from ir.base import PositiveNumber
from ir.checks.base import OneColumn


class Freshness(OneColumn):
    """The newest value is recent enough. Values in the future do not count and raise a warning.

    Times without a zone are read as UTC. A date means its midnight. Without any value the check fails.
    """

    kind = "freshness"
    describes_all = True
    sketch = (
        "SELECT now() - max({column}) FILTER (WHERE {column} <= now()), count(*) FILTER (WHERE {column} > now())"
        " FROM input"
    )
    within_hours: PositiveNumber = Field(
        title="Maximum age", description="Counted from the start of the run.", json_schema_extra={"unit": "h"}
    )
