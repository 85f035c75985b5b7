"""An instance of a component of the world `custom`.

Arrow IPC is passed as text in base64: wasmtime's Python API copies a text at once, but a list of bytes one by one
(0.4 s for 100 kB).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

import wasmtime
from wasmtime import component

from executors.wasm.engine import get_engine, new_store, refill
from executors.wasm.failures import GuestFailed, failure_of
from executors.wasm.limits import MEMORY_BYTES, MESSAGE_CHARACTERS, OUTPUT_BYTES, fuel_for

EXPORTS = ("prepare", "apply")


class ComponentGuest:
    """An instance. A component imports nothing, so it has access to nothing."""

    def __init__(self, made: component.Component) -> None:
        self._store = new_store(MEMORY_BYTES, single=False)
        refill(self._store, fuel_for(0))
        linker = component.Linker(get_engine())
        self._instance: Any = self._run(lambda: linker.instantiate(self._store, made))

    def prepare(self, schema: bytes, config: str) -> bytes:
        refill(self._store, fuel_for(0))
        return self._call("prepare", _encode(schema), config)

    def apply(self, rows: bytes, count: int) -> bytes:
        refill(self._store, fuel_for(count))
        return self._call("apply", _encode(rows))

    def _call(self, name: str, *given: str) -> bytes:
        found = self._run(lambda: self._instance.get_func(self._store, name)(self._store, *given))
        text = str(getattr(found, "payload", None) or "")
        if getattr(found, "tag", "") != "ok":
            raise GuestFailed(text[:MESSAGE_CHARACTERS] or "it gives no reason")
        if len(text) > OUTPUT_BYTES:
            raise GuestFailed("it returns too many bytes")
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise GuestFailed("it returns text that is not base64") from None

    def _run(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            raise failure_of(error) from None


def _encode(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")
