"""Compiled modules. Each process compiles a module once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import wasmtime
from wasmtime import component

from executors.errors import Terminal
from executors.model import ModuleCode
from executors.wasm.component_guest import ComponentGuest
from executors.wasm.core_guest import CoreGuest
from executors.wasm.engine import get_engine

_COMPONENT = b"\x00asm\x0d\x00\x01\x00"
"""How a component begins. A core module has version 1 in the fifth byte."""
MOST_COMPILED = 4


class Guest(Protocol):
    """One instance of a module. Every method raises GuestFailed and GuestTimedOut."""

    def prepare(self, schema: bytes, config: str) -> bytes: ...

    def apply(self, rows: bytes, count: int) -> bytes: ...


def compiled(code: ModuleCode) -> wasmtime.Module | component.Component:
    """Compile a module. Raises Terminal `custom.invalid_module`."""
    return _compile(os.getpid(), code.sha256, _Content(code.content, code.name))


def new_guest(code: ModuleCode, access: Collection[str]) -> Guest:
    """Return a new instance, which shares nothing with others. Raises GuestFailed, GuestTimedOut and Terminal
    `custom.invalid_module`."""
    made = compiled(code)
    return CoreGuest(made, access) if isinstance(made, wasmtime.Module) else ComponentGuest(made)


@dataclass(frozen=True, slots=True)
class _Content:
    """The bytes of a module, which are not hashed again at each look-up."""

    content: bytes = field(compare=False, repr=False)
    name: str = field(compare=False)


@lru_cache(MOST_COMPILED)
def _compile(process: int, sha256: str, given: _Content) -> wasmtime.Module | component.Component:
    del process  # an engine belongs to one process
    if hashlib.sha256(given.content).hexdigest() != sha256:
        raise Terminal("custom.invalid_module", f"The bytes of the module {given.name} do not have its hash.")
    kind = component.Component if given.content.startswith(_COMPONENT) else wasmtime.Module
    try:
        return kind(get_engine(), given.content)
    except (wasmtime.WasmtimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise Terminal("custom.invalid_module", f"The module {given.name} does not compile: {reason}") from None
