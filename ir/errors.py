"""The root of Flow's one exception hierarchy."""

from __future__ import annotations


class FlowError(Exception):
    """An error that a person can act on.

    `code` is stable, `message` says what happened to what, `hint` what to do, and `node` is the id of the node, if any.
    None of them contains a secret or a row value.
    """

    def __init__(self, code: str, message: str, *, hint: str = "", node: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.node = code, message, hint, node

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (type(self), self.args, self.__dict__)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def to_json(self) -> dict[str, str | None]:
        return {"code": self.code, "node": self.node, "message": self.message, "hint": self.hint}


def _restore(kind: type[FlowError], args: tuple[object, ...], state: dict[str, object]) -> FlowError:
    """Unpickle without calling `__init__`, whose signature subclasses may change."""
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error
