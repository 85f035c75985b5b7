"""Asks a module for the columns that it returns, before anything is read."""

from __future__ import annotations

from executors.errors import Terminal, Transient
from executors.wasm.call import CallModule
from executors.wasm.code import new_guest
from executors.wasm.failures import GuestFailed, GuestTimedOut
from executors.wasm.limits import SECONDS_PER_CALL
from executors.wasm.results import read_schema, why_other_schema


def check_prepared(call: CallModule, node: str) -> None:
    """Raise Terminal `custom.prepare_failed` or `custom.schema`, unless the module returns the declared columns for the
    columns that it gets."""
    name = call.code.name
    try:
        found = read_schema(new_guest(call.code, call.access).prepare(call.schema_bytes(), call.config))
        why = why_other_schema(found, call.returned_schema())
    except GuestFailed as failure:
        raise Terminal(
            "custom.prepare_failed", f"{name} refuses its columns or its config: {failure}.", node=node
        ) from None
    except GuestTimedOut:
        raise timed_out(name, node) from None
    if why:
        raise Terminal("custom.schema", f"{name} does not fit its columns: {why}.", node=node)


def timed_out(name: str, node: str) -> Transient:
    return Transient("custom.timed_out", f"A call of {name} took more than {SECONDS_PER_CALL} seconds.", node=node)
