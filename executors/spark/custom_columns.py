"""Compiles the op custom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from executors.errors import Terminal
from executors.model import ModuleCode
from executors.spark.compiled import Derive, RunPrograms, Working
from executors.spark.types import is_native
from executors.validation import CustomFlag
from executors.wasm import CallModule, check_prepared
from executors.wasm.call import CallColumn
from ir import ops
from ir.types import STRING, ColumnType

if TYPE_CHECKING:
    from executors.spark.columns import Compiler

_BOOLEAN = ColumnType("boolean")


def custom(compiler: Compiler, op: ops.Custom) -> None:
    """Compute columns with a module. Filtered and bad rows do not reach it."""
    needed = {name: compiler.need(name) for name in op.fields}
    flags = frozenset().union(*(flags for _, flags in needed.values()))
    given = tuple((name, base, compiler.frame[base]) for name, (base, _) in needed.items())
    number, kinds = len(compiler.stages), {name: ColumnType.parse(kind) for name, kind in op.made.items()}
    outs = compiler.new_columns(kinds)
    returned: tuple[CallColumn, ...] = tuple(
        (name, outs[name], kind if is_native(kind) else STRING) for name, kind in kinds.items()
    )
    asked, message = f"_flow_asked_{number}", f"_flow_message_{number}"
    rejected = compiler.add_flag(lambda flag: CustomFlag(flag, compiler.node, message, op.name))
    config = json.dumps(op.config or {}, sort_keys=True, ensure_ascii=False)
    code = _code(compiler, op)
    call = CallModule(compiler.node, code, config, tuple(op.access), given, returned, asked, rejected, message)
    check_prepared(call, compiler.node)
    compiler.stages += [Derive(((asked, compiler.eligible(flags)),)), RunPrograms((call,))]
    compiler.frame |= {column: kind for _, column, kind in returned}
    compiler.frame |= {asked: _BOOLEAN, rejected: _BOOLEAN, message: STRING}
    for name, column, kind in returned:
        compiler.working[name] = Working(column, kind, flags=flags | {rejected})
        compiler.convert(name, kinds[name])


def _code(compiler: Compiler, op: ops.Custom) -> ModuleCode:
    found = compiler.session.modules.get(op.module)
    if found is None:
        raise Terminal("custom.module_missing", f"The module {op.module} is not available.", node=compiler.node)
    return found
