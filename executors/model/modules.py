"""Modules of custom transforms."""

from __future__ import annotations

from dataclasses import dataclass, field

MODULE_BYTES = 24 << 20
"""The largest WebAssembly module that can be stored, in bytes."""


@dataclass(frozen=True, slots=True)
class ModuleCode:
    """The bytes of a WebAssembly module, which are those of its hash."""

    name: str
    sha256: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ModuleFacts:
    """What a module is. `imports` are the functions that it imports, `may_use` the kinds of access that these functions
    could use."""

    kind: str
    sha256: str
    size: int
    imports: tuple[str, ...]
    may_use: tuple[str, ...]
