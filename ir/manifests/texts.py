"""Writes manifests as text. Reading the text gives the same values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tomlkit

from ir.documents import Syntax
from ir.json_edits import write_json


def write_manifest(value: Mapping[str, Any], syntax: Syntax) -> str:
    """Return the text of a document, or of a manifest in the short form. TOML puts plain values before tables."""
    return WRITERS[syntax](value)


WRITERS: Mapping[Syntax, Callable[[Mapping[str, Any]], str]] = {
    "json": lambda value: write_json(dict(value)) + "\n",
    "toml": tomlkit.dumps,
}
