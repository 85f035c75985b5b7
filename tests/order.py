"""The order of tests that keeps several processes busy to the end.

With `--dist worksteal` each process gets one piece of the list, all of one length; one that is through takes tests from
the end of another's piece. So the longest tests are at the beginnings of pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")


def in_pieces(long: Sequence[T], others: Sequence[T], module: Callable[[T], Hashable], processes: int) -> list[T]:
    """Long tests begin the pieces, module by module; the others fill them in their order."""
    starts = _dealt(long, module, processes)
    left, ordered = list(others), list[T]()
    for place, start in enumerate(starts):
        length = (sum(map(len, starts[place:])) + len(left)) // (processes - place)
        room = max(0, length - len(start))
        ordered += [*start, *left[:room]]
        del left[:room]
    return ordered + left


def _dealt(items: Sequence[T], module: Callable[[T], Hashable], hands: int) -> list[list[T]]:
    """Each module whole to the hand that has the fewest items."""
    modules: dict[Hashable, list[T]] = {}
    for item in items:
        modules.setdefault(module(item), []).append(item)
    dealt: list[list[T]] = [[] for _ in range(hands)]
    for group in modules.values():
        min(dealt, key=len).extend(group)
    return dealt
