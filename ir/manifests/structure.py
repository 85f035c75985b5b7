"""Checks the structure of one manifest in the short form, independent of its project."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ir.diagnostics import InvalidPipeline
from ir.documents import Document
from ir.manifests.short import ShortPipeline
from ir.structure import structural_diagnostics


def require_short(document: Document) -> dict[str, Any]:
    """Return the value of a manifest in the short form. Raises InvalidPipeline."""
    faults = list(document.faults)
    try:
        ShortPipeline.read(document.value)
    except ValidationError as error:
        faults += structural_diagnostics(error, ShortPipeline)
    if faults:
        raise InvalidPipeline([document.with_position(found) for found in faults])
    return dict(document.value)
