"""An instance of a core module."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import wasmtime

from executors.wasm.engine import get_engine, new_store, refill
from executors.wasm.failures import GuestFailed, failure_of
from executors.wasm.limits import MEMORY_BYTES, MESSAGE_CHARACTERS, OUTPUT_BYTES, fuel_for
from executors.wasm.wasi import MODULE, Exited, Wasi

_Type = tuple[list[str], list[str]]

EXPORTS: dict[str, _Type] = {
    "flow_alloc": (["i32"], ["i32"]),
    "flow_prepare": (["i32", "i32", "i32", "i32"], ["i64"]),
    "flow_apply": (["i32", "i32"], ["i64"]),
}
"""The functions that a module exports, with the types of their parameters and results. All sizes are in bytes."""
OPTIONAL: dict[str, _Type] = {"flow_error": ([], ["i64"]), "_initialize": ([], [])}


class CoreGuest:
    """An instance with a memory of its own. `access` is what has been granted."""

    def __init__(self, module: wasmtime.Module, access: Collection[str]) -> None:
        self._store, self._wasi = new_store(MEMORY_BYTES, single=True), Wasi(access)
        linker = wasmtime.Linker(get_engine())
        for needed in module.imports:
            if needed.module == MODULE and isinstance(needed.type, wasmtime.FuncType):
                self._wasi.define(linker, str(needed.name), needed.type)
        refill(self._store, fuel_for(0))
        self._exports: Any = self._run(lambda: linker.instantiate(self._store, module)).exports(self._store)
        if "_initialize" in self._exports:
            self._call("_initialize")

    def prepare(self, schema: bytes, config: str) -> bytes:
        refill(self._store, fuel_for(0))
        settings = config.encode()
        given = self._put(schema), len(schema), self._put(settings), len(settings)
        return self._result(self._call("flow_prepare", *given))

    def apply(self, rows: bytes, count: int) -> bytes:
        refill(self._store, fuel_for(count))
        return self._result(self._call("flow_apply", self._put(rows), len(rows)))

    def _put(self, value: bytes) -> int:
        at = self._call("flow_alloc", len(value)) & 0xFFFFFFFF
        if not at or at + len(value) > self._memory.data_len(self._store):
            raise GuestFailed("it has no memory left")
        if value:
            self._memory.write(self._store, value, at)
        return int(at)

    def _result(self, packed: int) -> bytes:
        """Return the bytes at an address and a length. Both are 0 after an error."""
        if packed == 0:
            raise GuestFailed(self._error())
        return self._get(packed)

    def _get(self, packed: int) -> bytes:
        at, size = (packed >> 32) & 0xFFFFFFFF, packed & 0xFFFFFFFF
        if size > OUTPUT_BYTES or at + size > self._memory.data_len(self._store):
            raise GuestFailed("it returns bytes outside its memory, or too many")
        return bytes(self._memory.read(self._store, at, at + size))

    def _error(self) -> str:
        if "flow_error" not in self._exports:
            return "it gives no reason"
        text = self._get(self._call("flow_error")).decode("utf-8", "replace")
        return text[:MESSAGE_CHARACTERS] or "it gives no reason"

    @property
    def _memory(self) -> wasmtime.Memory:
        memory: wasmtime.Memory = self._exports["memory"]
        return memory

    def _call(self, name: str, *given: int) -> int:
        found: int = self._run(lambda: self._exports[name](self._store, *given))
        return found

    def _run(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except Exited:
            raise GuestFailed(f"it ended itself. {self._wasi.text()}".strip()) from None
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            raise failure_of(error, self._wasi.text()) from None
