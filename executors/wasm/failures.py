"""How a call of a module fails."""

from __future__ import annotations

from wasmtime import Trap, TrapCode, WasmtimeError


class GuestFailed(Exception):
    """The module failed for these rows. `str()` is the reason in words, without its name."""


class GuestTimedOut(Exception):
    """The call took longer than a call may take."""


_REASONS = {
    TrapCode.OUT_OF_FUEL: "it needs more instructions than a call may use",
    TrapCode.STACK_OVERFLOW: "its stack overflows",
    TrapCode.MEMORY_OUT_OF_BOUNDS: "it accesses memory that it does not have",
    TrapCode.UNREACHABLE: "it stopped itself",
    TrapCode.INTEGER_DIVISION_BY_ZERO: "it divides by zero",
    TrapCode.INTEGER_OVERFLOW: "a number is too large for it",
}


def failure_of(error: Trap | WasmtimeError, log: str = "") -> GuestFailed | GuestTimedOut:
    """Return the failure of a call that wasmtime ended. `log` is what the module wrote to standard error."""
    code = error.trap_code if isinstance(error, Trap) else None
    text = str(error)
    if code == TrapCode.INTERRUPT or "wasm trap: interrupt" in text:
        return GuestTimedOut()
    found = next((known for known in _REASONS if known == code), None)
    if found is None and "all fuel consumed" in text:
        found = TrapCode.OUT_OF_FUEL
    reason = _REASONS[found] if found is not None else _first_line(text)
    return GuestFailed(f"{reason}: {log}" if log else reason)


def _first_line(text: str) -> str:
    """Return the cause of an error of wasmtime, which follows the places in the module where it happened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("wasm trap: ")]
    return (causes or lines or ["it failed"])[-1].removeprefix("wasm trap: ")[:200]
