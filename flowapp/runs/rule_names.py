"""Rule names for people: a rule without an id is named by its type and field instead of Flow's hash."""

from __future__ import annotations

import re
from collections.abc import Collection

from flowapp.accounts.models import Workspace
from flowapp.runs.models import RuleCount

_MADE_UP = re.compile(r"r-[0-9a-f]{12}")
_IMPLICIT = re.compile(r"(type|notNull|length|text|order|expression|missing|members|size):(.*)", re.DOTALL)
"""Ids of rules that follow from the columns of a target."""


def rule_name(rule: str, kind: str, field: str | None) -> str:
    """Return the rule's id, or a name if Flow generated the id: `email on contact`, or `type on amount` for a column of
    a target."""
    if implicit := _IMPLICIT.fullmatch(rule):
        return "{} on {}".format(*implicit.groups())
    if not _MADE_UP.fullmatch(rule):
        return rule
    return kind if field is None else f"{kind} on {field}"


def names_of(workspace: Workspace, runs: Collection[str], rules: Collection[str]) -> dict[str, str]:
    """Return the names of rules with generated ids, as these runs have counted them."""
    implicit = {rule: rule_name(rule, "", None) for rule in rules if _IMPLICIT.fullmatch(rule)}
    made_up = {rule for rule in rules if _MADE_UP.fullmatch(rule)}
    if not made_up:
        return implicit
    counted = RuleCount.objects.filter(workspace=workspace, run_id__in=set(runs), rule__in=made_up)
    known = {rule: rule_name(rule, kind, field) for rule, kind, field in counted.values_list("rule", "type", "field")}
    return implicit | known
