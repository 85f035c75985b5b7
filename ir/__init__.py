"""The pipeline document: its types, its schema and its only parser. Imports neither Django nor Spark nor a driver.

Names of this module are imported at their first use, so that importing only `ir.errors` does not load the parser.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ir.diagnostics import Diagnostic, InvalidPipeline, Skipped
    from ir.parse import Parsed, parsePipelineIR

__all__ = ["Diagnostic", "InvalidPipeline", "Parsed", "Skipped", "parsePipelineIR"]

_HOMES = {
    "Diagnostic": "ir.diagnostics",
    "InvalidPipeline": "ir.diagnostics",
    "Parsed": "ir.parse",
    "Skipped": "ir.diagnostics",
    "parsePipelineIR": "ir.parse",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ir' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
