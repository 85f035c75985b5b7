"""What a load does when the columns of its source change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

SchemaPolicy = Literal["freeze", "ask", "evolve"]

_STRICTEST_FIRST: tuple[SchemaPolicy, ...] = get_args(SchemaPolicy)


def strictest(policies: Iterable[SchemaPolicy]) -> SchemaPolicy:
    """Return the policy of a table that several sources load: its columns change only if all of them allow it."""
    return min(policies, key=_STRICTEST_FIRST.index)
