"""Custom transforms: WebAssembly modules that run in a sandbox. No Spark and no Django.

`docs/reference/custom-transforms.md` describes the interface and the limits.
"""

from __future__ import annotations

from executors.wasm.call import CallModule
from executors.wasm.inspecting import inspect_module
from executors.wasm.preparing import check_prepared

__all__ = ["CallModule", "check_prepared", "inspect_module"]
