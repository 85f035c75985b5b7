"""What a module sees of the system interface WASI preview 1: no files, no sockets, no environment, no arguments.

Compilers of Rust, C and others link to these functions. Time and random bytes are constants, unless access to them is
granted, so that a module returns the same results on every try.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import wasmtime

from executors.wasm.limits import LOG_BYTES

MODULE = "wasi_snapshot_preview1"
_BADF, _FAULT, _NOTCAPABLE = 8, 21, 76
_STDOUT, _STDERR = 1, 2


class Exited(Exception):
    """The module called `proc_exit`."""


@dataclass(slots=True)
class Wasi:
    """The functions for one instance. `log` collects the beginning of standard output and standard error."""

    access: Collection[str]
    log: bytearray = field(default_factory=bytearray)

    def define(self, linker: wasmtime.Linker, name: str, kind: wasmtime.FuncType) -> None:
        """Define a function that a module imports. Every function without an own meaning reports that it is not
        allowed."""
        known = _KNOWN.get(name)
        returns_nothing = not kind.results

        def call(caller: wasmtime.Caller, *args: int) -> int | None:
            code = _NOTCAPABLE if known is None else known(self, caller, args)
            return None if returns_nothing else code

        linker.define_func(MODULE, name, kind, call, access_caller=True)

    def text(self) -> str:
        return self.log.decode("utf-8", "replace").strip().replace("\n", " ")

    def write(self, caller: wasmtime.Caller, args: tuple[int, ...]) -> int:
        number, vectors, count, written = args
        if number not in (_STDOUT, _STDERR):
            return _BADF
        total = 0
        for at in range(count & 0xFFFF):
            start, size = (_read_u32(caller, vectors + 8 * at + offset) for offset in (0, 4))
            total += size
            left = LOG_BYTES - len(self.log)
            self.log += _memory(caller).read(caller, start, start + min(size, left))
        return _store(caller, written, total.to_bytes(8, "little")[:4])

    def clock(self, caller: wasmtime.Caller, args: tuple[int, ...]) -> int:
        now = time.time_ns() if "clock" in self.access else 0
        return _store(caller, args[-1], now.to_bytes(8, "little"))

    def random(self, caller: wasmtime.Caller, args: tuple[int, ...]) -> int:
        start, size = args
        size = min(size & 0xFFFFFFFF, _memory(caller).data_len(caller))
        return _store(caller, start, os.urandom(size) if "random" in self.access else bytes(size))

    def none_of_two(self, caller: wasmtime.Caller, args: tuple[int, ...]) -> int:
        """Report that there are no arguments or variables, and that they take no bytes."""
        return _store(caller, args[0], bytes(4)) or _store(caller, args[1], bytes(4))

    def nothing(self, caller: wasmtime.Caller, args: tuple[int, ...]) -> int:
        return 0

    def no_file(self, caller: wasmtime.Caller, args: tuple[int, ...]) -> int:
        return _BADF

    def exit(self, caller: wasmtime.Caller, args: tuple[int, ...]) -> int:
        raise Exited


_KNOWN: dict[str, Callable[[Wasi, wasmtime.Caller, tuple[int, ...]], int]] = {
    "fd_write": Wasi.write,
    "clock_time_get": Wasi.clock,
    "clock_res_get": Wasi.clock,
    "random_get": Wasi.random,
    "environ_sizes_get": Wasi.none_of_two,
    "args_sizes_get": Wasi.none_of_two,
    "environ_get": Wasi.nothing,
    "args_get": Wasi.nothing,
    "sched_yield": Wasi.nothing,
    "fd_prestat_get": Wasi.no_file,
    "fd_prestat_dir_name": Wasi.no_file,
    "fd_fdstat_get": Wasi.no_file,
    "fd_close": Wasi.no_file,
    "proc_exit": Wasi.exit,
}


_REFUSED = (
    "fd_advise",
    "fd_allocate",
    "fd_datasync",
    "fd_fdstat_set_flags",
    "fd_fdstat_set_rights",
    "fd_filestat_get",
    "fd_filestat_set_size",
    "fd_filestat_set_times",
    "fd_pread",
    "fd_pwrite",
    "fd_read",
    "fd_readdir",
    "fd_renumber",
    "fd_seek",
    "fd_sync",
    "fd_tell",
    "path_create_directory",
    "path_filestat_get",
    "path_filestat_set_times",
    "path_link",
    "path_open",
    "path_readlink",
    "path_remove_directory",
    "path_rename",
    "path_symlink",
    "path_unlink_file",
    "poll_oneoff",
    "proc_raise",
    "sock_accept",
    "sock_recv",
    "sock_send",
    "sock_shutdown",
)
"""The other functions. They report that they are not allowed."""

_PARAMETERS: dict[str, tuple[str, ...]] = {
    "sched_yield": (),
    **dict.fromkeys(("fd_close", "proc_exit"), ("i32",)),
    **dict.fromkeys(("environ_sizes_get", "args_sizes_get", "environ_get", "args_get"), ("i32", "i32")),
    **dict.fromkeys(("random_get", "clock_res_get", "fd_prestat_get", "fd_fdstat_get"), ("i32", "i32")),
    "fd_prestat_dir_name": ("i32", "i32", "i32"),
    "clock_time_get": ("i32", "i64", "i32"),
    "fd_write": ("i32", "i32", "i32", "i32"),
}
"""Of the functions with a meaning."""


def is_provided(name: str, kind: wasmtime.FuncType) -> bool:
    """Return whether a module may import this function with these types."""
    if name not in _KNOWN and name not in _REFUSED:
        return False
    results = () if name == "proc_exit" else ("i32",)
    given = tuple(map(str, kind.params))
    return tuple(map(str, kind.results)) == results and _PARAMETERS.get(name, given) == given


def _memory(caller: wasmtime.Caller) -> Any:
    return caller["memory"]


def _read_u32(caller: wasmtime.Caller, at: int) -> int:
    at &= 0xFFFFFFFF
    return int.from_bytes(_memory(caller).read(caller, at, at + 4), "little")


def _store(caller: wasmtime.Caller, at: int, value: bytes) -> int:
    """Write into the memory of the module. Returns the code of WASI."""
    at &= 0xFFFFFFFF
    if at + len(value) > _memory(caller).data_len(caller):
        return _FAULT
    _memory(caller).write(caller, value, at)
    return 0
