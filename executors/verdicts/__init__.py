"""Verdicts on rows: which of a batch go to staging, which to quarantine, and why. Plain functions over Arrow."""

from __future__ import annotations

from executors.verdicts.judge import judge, left_by_rules
from executors.verdicts.plan import BAD, FILE, RAW, RECORD, CastFlag, FailedFlag, Judged, JudgePlan, OpFlag, TieFlag
from executors.verdicts.tally import Tally

__all__ = [
    "BAD",
    "FILE",
    "RAW",
    "RECORD",
    "CastFlag",
    "FailedFlag",
    "JudgePlan",
    "Judged",
    "OpFlag",
    "Tally",
    "TieFlag",
    "judge",
    "left_by_rules",
]
