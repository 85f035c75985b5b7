"""Describe what the rules of a validate node would do to the rows of a preview, in the order of the form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flowapp.pipelines.documents import read_document
from ir.nodes import Validate
from ir.rules import rule_id
from ir.words import counted

EFFECTS = {
    "skip": "Would reject {violations} of {rows}.",
    "warn": "Would warn of {violations} of {rows}.",
    "abort": "{violations} of {rows} would stop the run.",
}


@dataclass(frozen=True, slots=True)
class RuleLine:
    violations: int
    text: str


def rule_lines(result: Mapping[str, Any], document: str) -> list[RuleLine]:
    """Return a line for each row rule of the previewed node; none for other kinds of nodes. `document` is the previewed
    text."""
    node = read_document(document).node(result["node"])
    if not isinstance(node, Validate):
        return []
    found = {rule["rule_id"]: rule for rule in result["rules"]}
    return [_line(rule.on_fail, found.get(rule_id(rule), {}), result) for rule in node.row_level]


def _line(on_fail: str, rule: Mapping[str, Any], result: Mapping[str, Any]) -> RuleLine:
    """Rules of exploded rows evaluate and reject records."""
    violations, rows, unit = rule.get("violations", 0), result["rows_in"], result["unit_rejected"]
    if unit == "record" and rule.get("evaluated") is not None:
        rows = rule["evaluated"]
    sampled = counted(rows, f"sampled {unit}")
    return RuleLine(violations, EFFECTS[on_fail].format(violations=f"{violations:,}", rows=sampled))
