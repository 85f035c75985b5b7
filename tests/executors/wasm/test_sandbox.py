"""A module gets nothing but its rows, and every wrong result is refused before Arrow reads it."""

from __future__ import annotations

import struct
import time

import pyarrow as pa
import pytest

from executors.errors import Terminal, Transient
from executors.wasm import CallModule, check_prepared, engine, inspect_module
from executors.wasm import call as calling
from executors.wasm.code import new_guest
from executors.wasm.failures import GuestFailed, GuestTimedOut
from executors.wasm.limits import MEMORY_BYTES, MOST_FAILING_ROWS
from ir.types import ColumnType
from tests.executors.wasm.modules import ENDLESS, TRAP_AT_BOOM, code, echo, returning

TEXT = ColumnType("string")
WASI = '(import "wasi_snapshot_preview1" "{name}" (func $f {type}))'


def call_of(content: bytes, columns=(("a", TEXT),), access=(), returned=None) -> CallModule:
    given = tuple((name, f"in_{name}", kind) for name, kind in columns)
    out = tuple((name, f"out_{name}", kind) for name, kind in returned or columns)
    return CallModule("shape", code(content), "{}", tuple(access), given, out, "asked", "rejected", "message")


def run(call: CallModule, asked=None, **columns: list) -> dict[str, list]:
    arrays = {f"in_{name}": pa.array(columns[name], call.given_schema().field(name).type) for name in columns}
    rows = len(next(iter(columns.values())))
    arrays["asked"] = pa.array(asked or [True] * rows, pa.bool_())
    return {name: values.to_pylist() for name, values in call.run(arrays).items()}


def stream(schema: pa.Schema, *batches: pa.RecordBatch, **options) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return out.getvalue().to_pybytes()


def of_texts(*texts: str | None, name: str = "a", **options) -> bytes:
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.string())], [name])
    return stream(batch.schema, batch, **options)


# --- rows ---------------------------------------------------------------------------------------------------------


def test_rows_come_back_in_their_places_and_rows_that_are_not_asked_are_null():
    found = run(call_of(echo()), [True, False, True, None], a=["x", "hidden", None, "never"])
    assert found == {"out_a": ["x", None, None, None], "rejected": [False] * 4, "message": [None] * 4}


def test_a_module_never_sees_rows_that_are_not_asked():
    found = run(call_of(echo(TRAP_AT_BOOM)), [True, False], a=["x", "boom"])
    assert found["rejected"] == [False, False]


def test_one_failing_row_of_ten_thousand_is_the_only_rejected_one():
    values = [f"value {n}" for n in range(10_000)]
    values[6_173] = "boom"
    found = run(call_of(echo(TRAP_AT_BOOM)), a=values)
    assert [n for n, bad in enumerate(found["rejected"]) if bad] == [6_173]
    assert found["message"][6_173] == "makes the module tested fail: it stopped itself"
    assert found["out_a"] == [None if n == 6_173 else value for n, value in enumerate(values)]


def test_a_row_is_rejected_with_the_text_of_the_error_column():
    columns = (("a", TEXT), ("_error", TEXT))
    call = call_of(echo(), columns, returned=columns[:1])
    found = run(call, a=["x", "y", "z"], _error=[None, "is no IBAN", ""])
    assert found["rejected"] == [False, True, True]
    assert found["message"][1] == "is rejected by the module tested: is no IBAN"


def test_a_module_that_fails_for_most_rows_ends_the_run_without_their_values():
    with pytest.raises(Terminal) as failed:
        run(call_of(echo(TRAP_AT_BOOM)), a=["boom"] * (MOST_FAILING_ROWS + 1))
    assert failed.value.code == "custom.failing"
    assert "boom" not in str(failed.value)


def test_each_call_has_a_new_instance():
    """The module fails when it is called a second time."""
    body = "(if (global.get $called) (then unreachable)) (global.set $called (i32.const 1))"
    content = echo(body, imports="(global $called (mut i32) (i32.const 0))".replace("(global", "(global", 1))
    call = call_of(content)
    assert run(call, a=["x"])["rejected"] == run(call, a=["x"])["rejected"] == [False]


# --- results ------------------------------------------------------------------------------------------------------


def why(content: bytes, columns=(("a", TEXT),)) -> str:
    (message,) = run(call_of(content, columns), a=["x"])["message"]
    return str(message)


def with_lying_offsets() -> bytes:
    """Return a text that claims to be longer than its buffer."""
    head, _, tail = of_texts("x").rpartition(struct.pack("<ii", 0, 1))
    return head + struct.pack("<ii", 0, 1 << 30) + tail


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (of_texts(), "it returns 0 rows for 1"),
        (of_texts("x", "y"), "it returns 2 rows for 1"),
        (of_texts("x", name="b"), "it returns the columns b, not a"),
        (stream(pa.schema([("a", pa.int64())])), "it returns a as int64, not as string"),
        (b"", "no valid Arrow IPC stream"),
        (b"\xff" * 64, "no valid Arrow IPC stream"),
        (of_texts("x")[:-40], "no valid Arrow IPC stream"),
        (of_texts("x" * 10_000, compression="zstd"), "compressed buffers"),
        (with_lying_offsets(), "no valid Arrow IPC stream"),
    ],
)
def test_a_wrong_result_rejects_the_row_with_the_reason(content, expected):
    assert expected in why(returning(content))


def test_every_damaged_result_is_refused_or_read_without_a_crash():
    """Change each byte of a result in turn: Arrow's reader must not get what it cannot read."""
    whole = of_texts("some text", None, "another")
    for place in range(0, len(whole), 7):
        content = whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]
        found = run(call_of(returning(content)), a=["x", "y", "z"])
        assert len(found["rejected"]) == 3


def test_a_result_outside_the_memory_is_refused():
    body = "(return (i64.const 0x7fffffff7fffffff))"
    assert "bytes outside its memory" in why(echo(body))


def test_a_module_that_returns_other_columns_is_refused_before_anything_is_read():
    with pytest.raises(Terminal) as refused:
        check_prepared(call_of(echo(), returned=(("b", TEXT),)), "shape")
    assert refused.value.code == "custom.schema"
    assert "the columns a, not b" in refused.value.message
    check_prepared(call_of(echo()), "shape")


# --- limits -------------------------------------------------------------------------------------------------------


def test_an_endless_loop_ends_by_fuel():
    assert why(echo(ENDLESS)) == "makes the module tested fail: it needs more instructions than a call may use"


def test_a_call_that_takes_too_long_with_little_fuel_ends_the_attempt(monkeypatch):
    monkeypatch.setattr(engine, "SECONDS_PER_CALL", 1)
    monkeypatch.setattr(calling, "SECONDS_PER_CALL", 1)
    grow = "(drop (memory.grow (i32.const 1000)))"
    body = grow + "(loop $l (drop (call $f (i32.const 131072) (i32.const 60000000))) (br $l))"
    content = echo(body, WASI.format(name="random_get", type="(param i32 i32) (result i32)"))
    started = time.monotonic()
    with pytest.raises(Transient) as late:
        run(call_of(content), a=["x"])
    assert (late.value.code, late.value.node) == ("custom.timed_out", "shape")
    assert time.monotonic() - started < 20


def test_memory_does_not_grow_beyond_the_limit():
    pages = MEMORY_BYTES // 65536
    beyond = f"(if (i32.ne (memory.grow (i32.const {pages})) (i32.const -1)) (then unreachable))"
    assert run(call_of(echo(beyond)), a=["x"])["rejected"] == [False]


def test_a_stack_that_overflows_is_a_failure_of_the_row():
    more = "(func $deep (call $deep))"
    assert "stack" in why(echo("(call $deep)", more=more))


# --- access -------------------------------------------------------------------------------------------------------


def errno_of(name: str, params: int, access=()) -> int:
    """Return what a function of WASI answers. A module cannot return it, so it traps for other codes."""
    kind = f"(param {' '.join(['i32'] * params)}) (result i32)"
    for expected in (0, 8, 21, 76):
        given = " ".join(["(i32.const 64)"] * params)
        body = f"(if (i32.ne (call $f {given}) (i32.const {expected})) (then unreachable))"
        content = echo(body, WASI.format(name=name, type=kind))
        if run(call_of(content, access=access), a=["x"])["rejected"] == [False]:
            return expected
    raise AssertionError(name)


NOT_CAPABLE = 76


@pytest.mark.parametrize(
    ("name", "params"),
    [("sock_accept", 3), ("sock_send", 5), ("sock_recv", 6), ("path_link", 7), ("fd_read", 4), ("fd_readdir", 5)],
)
def test_a_module_can_open_no_socket_and_no_file(name, params):
    assert errno_of(name, params) == NOT_CAPABLE


def test_opening_a_file_is_refused():
    kind = "(param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)"
    given = " ".join(["(i32.const 64)"] * 5 + ["(i64.const 64)"] * 2 + ["(i32.const 64)"] * 2)
    body = f"(if (i32.ne (call $f {given}) (i32.const {NOT_CAPABLE})) (then unreachable))"
    content = echo(body, WASI.format(name="path_open", type=kind))
    assert inspect_module("tested", content).imports == ("wasi_snapshot_preview1.path_open",)
    assert run(call_of(content), a=["x"])["rejected"] == [False]


def test_there_are_no_folders_arguments_and_variables():
    assert errno_of("fd_prestat_get", 2) == 8
    assert errno_of("environ_sizes_get", 2) == 0
    assert errno_of("args_sizes_get", 2) == 0


@pytest.mark.parametrize("granted", [False, True])
def test_the_clock_stands_still_without_a_grant(granted):
    body = """(drop (call $f (i32.const 0) (i64.const 0) (i32.const 64)))
      (if (i64.ne (i64.load (i32.const 64)) (i64.const 0)) (then unreachable))"""
    content = echo(body, WASI.format(name="clock_time_get", type="(param i32 i64 i32) (result i32)"))
    assert inspect_module("tested", content).may_use == ("clock",)
    assert run(call_of(content, access=["clock"] if granted else []), a=["x"])["rejected"] == [granted]


def test_what_a_module_prints_explains_its_failure():
    body = """(i32.store (i32.const 0) (i32.const 64)) (i32.store (i32.const 4) (i32.const 5))
      (i64.store (i32.const 64) (i64.const 0x776f726f73)) (drop (call $f (i32.const 2) (i32.const 0) (i32.const 1)
      (i32.const 32))) unreachable"""
    content = echo(body, WASI.format(name="fd_write", type="(param i32 i32 i32 i32) (result i32)"))
    assert why(content) == "makes the module tested fail: it stopped itself: sorow"


# --- upload -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "refused_with"),
    [
        (b"not wasm", "custom.invalid_module"),
        (b"", "custom.invalid_module"),
        (echo()[:100], "custom.invalid_module"),
        (echo(imports='(import "env" "socket" (func))'), "custom.import_refused"),
        (echo(imports='(import "wasi_snapshot_preview1" "no_such" (func))'), "custom.import_refused"),
        (echo(imports='(import "env" "table" (table 1 funcref))'), "custom.import_refused"),
        (
            echo(imports='(import "wasi_snapshot_preview1" "fd_write" (func (param i64) (result i32)))'),
            "custom.import_refused",
        ),
        (
            echo(imports='(import "wasi_snapshot_preview1" "sched_yield" (func (result i32 i32)))'),
            "custom.import_refused",
        ),
        (echo(imports='(import "wasi_snapshot_preview1" "path_open" (func (result f64)))'), "custom.import_refused"),
        (b"\0asm\x01\0\0\0", "custom.export_missing"),
        (b"\0asm\x0d\0\x01\0", "custom.export_missing"),
        (bytes(30 << 20), "custom.too_large"),
    ],
)
def test_what_cannot_be_a_custom_transform_is_refused(content, refused_with):
    with pytest.raises(Terminal) as refused:
        inspect_module("tested", content)
    assert refused.value.code == refused_with


def test_bytes_of_another_hash_never_run():
    wrong = calling.ModuleCode("tested", "0" * 64, echo())
    with pytest.raises(Terminal) as refused:
        new_guest(wrong, ())
    assert refused.value.code == "custom.invalid_module"


def test_fuel_ends_the_same_call_at_the_same_instruction():
    body = """(loop $l (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (if (i32.eq (local.get $i) (i32.const 1000)) (then unreachable)) (br $l))"""
    left = []
    for _ in range(3):
        guest = new_guest(code(echo(body)), ())
        with pytest.raises(GuestFailed):
            guest.apply(b"x", 1)
        left.append(guest._store.get_fuel())
    assert len(set(left)) == 1
    assert not issubclass(GuestTimedOut, GuestFailed)
