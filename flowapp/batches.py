"""Long lists in queries: split into batches, or compared as one array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from django.db.models import F
from django.db.models.lookups import In

T = TypeVar("T")
AT_ONCE = 500


def in_batches(values: Iterable[T], size: int = AT_ONCE) -> Iterator[list[T]]:
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch


class IsAnyOf(In):
    """A condition like `name__in` for thousands of keys. PostgreSQL gets them as one array: a parameter for each takes
    most of the time of such a query, in this process and on the server.
    """

    prepare_rhs = False

    def __init__(self, name: str, keys: Iterable[Any]) -> None:
        super().__init__(F(name), list(keys))

    def as_postgresql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        sql, params = self.process_lhs(compiler, connection)
        return f"{sql} = ANY(%s)", [*params, self.rhs]
