"""Validates rows: decides which rows of a batch go to staging and which to quarantine, and why. Plain functions over
Arrow."""

from __future__ import annotations

from executors.validation.plan import (
    BAD,
    ELEMENT,
    FILE,
    RAW,
    RECORD,
    CastFlag,
    CustomFlag,
    Evaluated,
    FailedFlag,
    GroupColumns,
    NoBranchFlag,
    OpFlag,
    RejectFlag,
    TieFlag,
    ValidationPlan,
)
from executors.validation.records import Records
from executors.validation.tally import Tally
from executors.validation.validate import passes_rules, validate

__all__ = [
    "BAD",
    "ELEMENT",
    "FILE",
    "RAW",
    "RECORD",
    "CastFlag",
    "CustomFlag",
    "Evaluated",
    "FailedFlag",
    "GroupColumns",
    "NoBranchFlag",
    "OpFlag",
    "Records",
    "RejectFlag",
    "Tally",
    "TieFlag",
    "ValidationPlan",
    "passes_rules",
    "validate",
]
