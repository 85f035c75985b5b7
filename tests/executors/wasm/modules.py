"""Modules for tests, in the text format of WebAssembly."""

from __future__ import annotations

import hashlib
from functools import cache

import wasmtime

from executors.model import ModuleCode

ECHO = """
(module
  {imports}
  (memory (export "memory") 2)
  (global $next (mut i32) (i32.const 1024))
  (func (export "flow_alloc") (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $next))
    (global.set $next (i32.and (i32.add (i32.add (global.get $next) (local.get $size)) (i32.const 15)) (i32.const -8)))
    (block $fits
      (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
      (drop (memory.grow (i32.add (i32.shr_u (local.get $size) (i32.const 16)) (i32.const 1)))))
    (local.get $at))
  (func $packed (param $at i32) (param $size i32) (result i64)
    (i64.or (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32)) (i64.extend_i32_u (local.get $size))))
  (func (export "flow_prepare") (param $at i32) (param $size i32) (param i32 i32) (result i64)
    (call $packed (local.get $at) (local.get $size)))
  (func (export "flow_apply") (param $at i32) (param $size i32) (result i64)
    (local $i i32)
    {body}
    (call $packed (local.get $at) (local.get $size)))
  {more})
"""
"""A module that returns its input."""

TRAP_AT_BOOM = """
    (loop $scan
      (if (i32.eq (i32.load (i32.add (local.get $at) (local.get $i))) (i32.const 0x6d6f6f62)) (then unreachable))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $scan (i32.lt_u (local.get $i) (i32.sub (local.get $size) (i32.const 3)))))
"""
"""Traps if the bytes of `boom` are in the rows."""

ENDLESS = "(loop $forever (br $forever))"


@cache
def echo(body: str = "", imports: str = "", more: str = "") -> bytes:
    """Return a module that runs `body` and then returns its input."""
    return bytes(wasmtime.wat2wasm(ECHO.format(body=body, imports=imports, more=more)))


def returning(content: bytes) -> bytes:
    """Return a module whose `apply` always returns these bytes."""
    text = "".join(f"\\{byte:02x}" for byte in content)
    pages = (len(content) >> 16) + 1
    grow = f"(drop (memory.grow (i32.const {pages})))"
    data = f'(data $out "{text}")'
    body = f"""{grow}
      (local.set $at (i32.const 131072)) (local.set $size (i32.const {len(content)}))
      (memory.init $out (local.get $at) (i32.const 0) (local.get $size))"""
    return echo(body, more=data)


def code(content: bytes, name: str = "tested") -> ModuleCode:
    return ModuleCode(name, hashlib.sha256(content).hexdigest(), content)


def ref(content: bytes, name: str = "tested") -> str:
    """Return how documents name a module."""
    return f"{name}@sha256:{hashlib.sha256(content).hexdigest()}"
