"""Proposes the settings, column types and keys of a file from its first bytes, and reports values that do not fit.

The proposals are for people: a run uses the settings of its document only."""

from __future__ import annotations

from executors.detection.detect import detect
from executors.detection.fitting import Cell, ColumnFit, Fit, fit
from executors.detection.model import LOOKED_AT_BYTES, DetectedColumn, Detection, GivenSettings, Key, Problem

__all__ = [
    "LOOKED_AT_BYTES",
    "Cell",
    "ColumnFit",
    "DetectedColumn",
    "Detection",
    "Fit",
    "GivenSettings",
    "Key",
    "Problem",
    "detect",
    "fit",
]
