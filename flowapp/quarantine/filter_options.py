"""The options of the filters for rejected rows: the rules and fields that recent runs have counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from flowapp.accounts.models import Workspace
from flowapp.quarantine.selectors import EntryFilter
from flowapp.runs.models import SOURCE_LOADS, RuleCount, Run
from flowapp.runs.rule_names import rule_name

NEWEST_RUNS = 200
"""The number of runs that are read, so that the query is fast with millions of runs. The page of counts lists the rules
of older runs."""


@dataclass(frozen=True, slots=True)
class KnownRule:
    """A rule that rows have violated. `name` is its name for people."""

    rule: str
    name: str
    field: str | None


def known_rules(workspace: Workspace, filters: EntryFilter) -> list[KnownRule]:
    """Return the violated rules of the run, or of the newest runs of the pipeline or workspace, by name."""
    counted = RuleCount.objects.filter(workspace=workspace, run__in=_runs(workspace, filters), violations__gt=0)
    found = counted.values_list("rule", "type", "field").distinct()
    rules = {KnownRule(rule, rule_name(rule, kind, field), field) for rule, kind, field in found}
    return sorted(rules, key=lambda known: (known.name, known.rule, known.field or ""))


def _runs(workspace: Workspace, filters: EntryFilter) -> list[UUID]:
    if filters.run is not None:
        return [filters.run.pk]
    runs = Run.objects.filter(workspace=workspace, kind__in=SOURCE_LOADS)
    if filters.pipeline is not None:
        runs = runs.filter(pipeline=filters.pipeline)
    return list(runs.order_by("-queued_at", "id").values_list("pk", flat=True)[:NEWEST_RUNS])


def names_of_rules(rules: Iterable[KnownRule]) -> dict[str, str]:
    """Return the names of rules as options. Rules of the same name also show their id."""
    names = {known.rule: known.name for known in rules}
    often = Counter(names.values())
    return {rule: f"{name} ({rule})" if often[name] > 1 else name for rule, name in names.items()}


def fields_of(rules: Iterable[KnownRule]) -> list[str]:
    """Return the fields of these rules."""
    return sorted({known.field for known in rules if known.field})


def other_fields(rules: Sequence[KnownRule], filters: EntryFilter) -> list[str]:
    """Return the fields of the selected rule if the selected field is none of them. No entry matches both, and a query
    for them would read every entry of the rule."""
    if filters.rule is None or filters.field is None:
        return []
    about = {known.field for known in rules if known.rule == filters.rule}
    return sorted(field or "no single field" for field in about) if filters.field not in about else []
