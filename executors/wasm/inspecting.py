"""Checks a module before it is stored: it compiles, exports what Flow calls, and imports only what Flow provides."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import wasmtime
from wasmtime import component

from executors.errors import Terminal
from executors.model import MODULE_BYTES, ModuleCode, ModuleFacts
from executors.wasm.code import compiled
from executors.wasm.component_guest import EXPORTS as COMPONENT_EXPORTS
from executors.wasm.core_guest import EXPORTS, OPTIONAL
from executors.wasm.engine import get_engine
from executors.wasm.wasi import MODULE, is_provided

_NEEDS = {"clock": ("clock_time_get", "clock_res_get"), "random": ("random_get",)}


def inspect_module(name: str, content: bytes) -> ModuleFacts:
    """Return the facts of a module. Raises Terminal `custom.too_large`, `custom.invalid_module`,
    `custom.export_missing` and `custom.import_refused`."""
    if len(content) > MODULE_BYTES:
        most = f"{MODULE_BYTES >> 20} MB"
        raise Terminal("custom.too_large", f"The module has {len(content):,} bytes, but {most} is the maximum.")
    sha256 = hashlib.sha256(content).hexdigest()
    made = compiled(ModuleCode(name, sha256, content))
    imports = _check_core(made) if isinstance(made, wasmtime.Module) else _check_component(made)
    may_use = tuple(kind for kind, names in _NEEDS.items() if any(f"{MODULE}.{one}" in imports for one in names))
    return ModuleFacts(_kind(made), sha256, len(content), imports, may_use)


def _kind(made: wasmtime.Module | component.Component) -> str:
    return "module" if isinstance(made, wasmtime.Module) else "component"


def _check_core(module: wasmtime.Module) -> tuple[str, ...]:
    for needed in module.imports:
        asked, name = needed.type, str(needed.name)
        if needed.module != MODULE or not isinstance(asked, wasmtime.FuncType) or not is_provided(name, asked):
            raise _import_refused(f"{needed.module}.{needed.name}")
    exports = {one.name: one.type for one in module.exports}
    if not isinstance(exports.get("memory"), wasmtime.MemoryType):
        raise _export_missing("memory", "a memory")
    for name, (given, returned) in {**EXPORTS, **{n: t for n, t in OPTIONAL.items() if n in exports}}.items():
        kind = exports.get(name)
        if not isinstance(kind, wasmtime.FuncType) or (_names(kind.params), _names(kind.results)) != (given, returned):
            raise _export_missing(name, f"({', '.join(given)}) -> {returned[0] if returned else '()'}")
    return tuple(sorted(f"{needed.module}.{needed.name}" for needed in module.imports))


def _names(kinds: Iterable[wasmtime.ValType]) -> list[str]:
    return [str(kind) for kind in kinds]


def _check_component(made: component.Component) -> tuple[str, ...]:
    if imports := sorted(made.type.imports(get_engine())):
        raise _import_refused(imports[0])
    exports = made.type.exports(get_engine())
    for name in COMPONENT_EXPORTS:
        if name not in exports:
            raise _export_missing(name, "a function of the world flow:transform/custom")
    return ()


def _import_refused(name: str) -> Terminal:
    return Terminal(
        "custom.import_refused", f"The module imports {name}, which Flow does not provide with these types."
    )


def _export_missing(name: str, what: str) -> Terminal:
    return Terminal("custom.export_missing", f"The module does not export {name} as {what}.")
