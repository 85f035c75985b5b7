"""What the first bytes of a file tell of it: its settings as they stand in a document, its columns with their types,
keys, and what does not fit. For proposals to people: a run never reads by them unasked."""

from __future__ import annotations

from executors.detection.detect import detect
from executors.detection.model import LOOKED_AT_BYTES, DetectedColumn, Detection, GivenSettings, Key, Problem

__all__ = ["LOOKED_AT_BYTES", "DetectedColumn", "Detection", "GivenSettings", "Key", "Problem", "detect"]
