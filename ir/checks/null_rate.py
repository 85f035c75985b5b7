"""`nullRate`."""

from __future__ import annotations

from pydantic import ConfigDict

from ir.checks.base import Ratio


class NullRate(Ratio):
    """The ratio of rows in which the column would be loaded as NULL lies between two bounds.

    Without rows the ratio is 0.
    """

    model_config = ConfigDict(title="NULL rate")

    kind = "nullRate"
    sketch = "SELECT count(*) FILTER (WHERE {column} IS NULL)::numeric / count(*) FROM input"
