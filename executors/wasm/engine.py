"""The engine of this process. It counts fuel, and its epoch ends calls that take too long."""

from __future__ import annotations

import os
import threading
import time
from functools import cache

import wasmtime

from executors.wasm.limits import SECONDS_PER_CALL, TABLE_ELEMENTS


def get_engine() -> wasmtime.Engine:
    """Return the engine of this process. A process that was forked has an engine and a clock of its own."""
    return _engine(os.getpid())


@cache
def _engine(process: int) -> wasmtime.Engine:
    del process
    config = wasmtime.Config()
    config.consume_fuel = True
    config.epoch_interruption = True
    # Results must be the same on every machine.
    config.cranelift_nan_canonicalization = True
    config.wasm_relaxed_simd_deterministic = True
    config.wasm_threads = False
    # The compilation of a Python component takes a minute. Compiled code is found again by its content.
    try:
        config.cache = True
    except wasmtime.WasmtimeError:  # there is no folder for it
        config.cache = False
    engine = wasmtime.Engine(config)
    threading.Thread(target=_tick, args=(engine,), name="wasm epoch", daemon=True).start()
    return engine


def _tick(engine: wasmtime.Engine) -> None:
    while True:
        time.sleep(1)
        engine.increment_epoch()


def new_store(memory: int, *, single: bool) -> wasmtime.Store:
    """Return a store for one instance. A core module is `single`; a component consists of several instances."""
    store = wasmtime.Store(get_engine())
    if single:
        store.set_limits(memory_size=memory, table_elements=TABLE_ELEMENTS, instances=1, tables=10, memories=1)
    else:
        store.set_limits(memory_size=memory, table_elements=TABLE_ELEMENTS)
    return store


def refill(store: wasmtime.Store, fuel: int) -> None:
    """Give the store the fuel and the time of one call."""
    store.set_fuel(fuel)
    store.set_epoch_deadline(SECONDS_PER_CALL)
