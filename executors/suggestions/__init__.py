"""Suggests rules from a sample, and counts its rows that would violate a rule. Plain functions over rows; nothing is
read."""

from __future__ import annotations

from executors.suggestions.columns import ColumnProfile, Value, profile_columns, texts_of
from executors.suggestions.propose import LEAST_ROWS, Proposal, propose
from executors.suggestions.trial import Trial, try_rule

__all__ = [
    "LEAST_ROWS",
    "ColumnProfile",
    "Proposal",
    "Trial",
    "Value",
    "profile_columns",
    "propose",
    "texts_of",
    "try_rule",
]
