"""JSON Pointers (RFC 6901) as values that can be extended and compared."""

from __future__ import annotations

from typing import Any


class Pointer(tuple[str | int, ...]):
    """A position in a document: `Pointer() / "nodes" / 0` is `/nodes/0`."""

    __slots__ = ()

    def __truediv__(self, part: str | int) -> Pointer:
        return Pointer((*self, part))

    def __str__(self) -> str:
        return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in self)

    @property
    def parent(self) -> Pointer:
        """The position of the object or list that contains this one."""
        return Pointer(self[:-1])


ROOT = Pointer()


def value_at(document: Any, at: Pointer) -> Any:
    """Return the value at the position; None if there is none."""
    for part in at:
        if isinstance(document, dict):
            document = document.get(part)
        elif isinstance(document, list) and isinstance(part, int) and part < len(document):
            document = document[part]
        else:
            return None
    return document
