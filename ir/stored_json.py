"""JSON that is stored with the version of its shape, and read as one frozen class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from ir.errors import FlowError

T = TypeVar("T")


@dataclass(frozen=True)
class StoredJson(Generic[T]):
    """How values of a class are stored. `name` is what messages call one of them; `error` is the class of error that
    refuses another version."""

    name: str
    kind: type[T]
    version: int
    error: type[FlowError] = FlowError

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self.kind)

    def dump(self, value: T) -> dict[str, Any]:
        """The value as JSON, with its version."""
        return {"version": self.version, **self._adapter.dump_python(value, mode="json")}

    def load(self, stored: Mapping[str, Any]) -> T:
        """The value that was stored. Raises `stored.version_unknown` for any version but this one."""
        fields = dict(stored)
        if (version := fields.pop("version", None)) != self.version:
            raise self.error(
                "stored.version_unknown",
                f"The {self.name} has version {version}; this Flow reads version {self.version}.",
                hint="Run the version of Flow that wrote it, or a later one.",
            )
        return self._adapter.validate_python(fields)
