"""JSON Pointers (RFC 6901) as values that can be extended and compared."""

from __future__ import annotations


class Pointer(tuple[str | int, ...]):
    """A place in a document: `Pointer() / "nodes" / 0` is `/nodes/0`."""

    __slots__ = ()

    def __truediv__(self, part: str | int) -> Pointer:
        return Pointer((*self, part))

    def __str__(self) -> str:
        return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in self)

    def is_within(self, other: Pointer) -> bool:
        """Whether this is `other` or stands below it."""
        return self[: len(other)] == other


ROOT = Pointer()
