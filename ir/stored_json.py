"""JSON that is stored with a format version and read as one frozen class."""

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
    """The storage format of a class. `name` is the class's name in messages; `error` is the error class for other
    versions."""

    name: str
    kind: type[T]
    version: int
    error: type[FlowError] = FlowError

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self.kind)

    def dump(self, value: T) -> dict[str, Any]:
        """Return the value as JSON with its version."""
        return {"version": self.version, **self._adapter.dump_python(value, mode="json")}

    def load(self, stored: Mapping[str, Any]) -> T:
        """Return the stored value. Raises `stored.version_unknown` for any other version."""
        fields = dict(stored)
        if (version := fields.pop("version", None)) != self.version:
            raise self.error(
                "stored.version_unknown",
                f"The {self.name} has version {version}; this Flow reads version {self.version}.",
                hint="Run the version of Flow that wrote it, or a later one.",
            )
        return self._adapter.validate_python(fields)
