"""Totals of violations per pipeline, rule and field, for each day and for each block of days.

The page of counts adds them up, so that its cost depends on days, pipelines and rules, not on runs. They change in the
transaction that changes the counts of a run, by the difference, so that a run recorded twice counts once."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.db import transaction
from django.db.models import Max, Q

from flowapp.pipelines.models import Pipeline
from flowapp.quarantine.models import GroupKind, Span, ViolationGroup, ViolationTotal
from flowapp.runs.models import SOURCE_LOADS, RuleCount, Run

MOST_DAYS = 400
"""The maximum number of days that can be counted together. Older totals are deleted."""
BLOCK_DAYS = 10
"""The number of days of a block. The sum over a long time adds up blocks, and single days only at both ends."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of violations; see `ViolationGroup`."""

    kind: GroupKind
    node: str = ""
    rule: str = ""
    type: str = ""
    field: str | None = None
    on_fail: str = ""

    @property
    def key(self) -> str:
        parts = [self.kind.value, self.node, self.rule, self.type, self.field, self.on_fail]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def columns(self) -> dict[str, str | None]:
        """The columns of `RuleCount` with the same value in all counts of the group."""
        if self.kind == GroupKind.PIPELINE:
            return {}
        if self.kind == GroupKind.FIELD:
            return {"field": self.field}
        return {
            "node": self.node,
            "rule": self.rule,
            "type": self.type,
            "field": self.field,
            "on_fail": self.on_fail,
        }


def change_totals(run: Run, before: Iterable[RuleCount], after: Iterable[RuleCount]) -> None:
    """Replace the part of a run in the totals. Call it in the transaction that replaces the counts of its rules, with
    the run locked."""
    if run.kind not in SOURCE_LOADS:
        return
    old, new = _violations(before), _violations(after)
    changed = {group: (old[group], new[group]) for group in old | new if old[group] != new[group]}
    if changed:
        with transaction.atomic():
            _change(run, changed)


def forget_run(instance: Run, origin: object, **_: object) -> None:
    """Subtract a run from the totals before it is deleted. The totals of a deleted pipeline are deleted with it."""
    if instance.kind in SOURCE_LOADS and not isinstance(origin, Pipeline):
        change_totals(instance, RuleCount.objects.filter(run=instance), ())


def _violations(rules: Iterable[RuleCount]) -> Counter[Group]:
    """Return the violations of a run in each of its groups."""
    found = Counter[Group]()
    for rule in rules:
        if rule.violations:
            for group in _groups_of(rule):
                found[group] += rule.violations
    return found


def _groups_of(rule: RuleCount) -> tuple[Group, ...]:
    return (
        Group(GroupKind.PIPELINE),
        Group(GroupKind.FIELD, field=rule.field),
        Group(GroupKind.RULE, rule.node, rule.rule, rule.type, rule.field, rule.on_fail),
    )


def _change(run: Run, changed: Mapping[Group, tuple[int, int]]) -> None:
    by_key = {group.key: group for group in changed}
    totals = _locked_totals(run, changed)
    for total in totals:
        group = by_key[total.group.key]
        old, new = changed[group]
        total.violations += new - old
        total.runs += bool(new) - bool(old)
        if new:
            total.newest = max(total.newest, run.queued_at)
        elif total.runs and total.newest <= run.queued_at:
            total.newest = _newest_of_others(run, group, total) or total.newest
    ViolationTotal.objects.bulk_update([t for t in totals if t.runs], ["violations", "runs", "newest"])
    ViolationTotal.objects.filter(pk__in=[t.pk for t in totals if not t.runs]).delete()


def _locked_totals(run: Run, changed: Mapping[Group, tuple[int, int]]) -> list[ViolationTotal]:
    """Return the locked totals of the run's day; new totals start at zero. If the day has expired, a run that lowers
    its counts finds no totals."""
    groups = _stored_groups(run, changed)
    spans = tuple(_spans_of(run.queued_at.astimezone(UTC).date()))
    ViolationTotal.objects.bulk_create(
        (
            ViolationTotal(
                workspace_id=run.workspace_id,
                group=groups[group.key],
                kind=group.kind,
                span=span,
                starts=starts,
                violations=0,
                runs=0,
                newest=run.queued_at,
            )
            for group, (old, _) in changed.items()
            if not old
            for span, starts in spans
        ),
        ignore_conflicts=True,
    )
    wanted = Q()
    for span, starts in spans:
        wanted |= Q(span=span, starts=starts)
    totals = ViolationTotal.objects.filter(wanted, group__in=groups.values())
    return list(totals.select_related("group").select_for_update(of=("self",)).order_by("pk"))


def _stored_groups(run: Run, groups: Iterable[Group]) -> dict[str, ViolationGroup]:
    """Return the groups by their keys; create missing ones."""
    by_key = {group.key: group for group in groups}
    stored = ViolationGroup.objects.filter(pipeline_id=run.pipeline_id, key__in=by_key)
    found = {group.key: group for group in stored}
    if len(found) == len(by_key):
        return found
    ViolationGroup.objects.bulk_create(
        (
            ViolationGroup(
                workspace_id=run.workspace_id,
                pipeline_id=run.pipeline_id,
                key=key,
                kind=group.kind,
                **group.columns,
            )
            for key, group in by_key.items()
            if key not in found
        ),
        ignore_conflicts=True,
    )
    return {group.key: group for group in stored.all()}


def _newest_of_others(run: Run, group: Group, total: ViolationTotal) -> datetime | None:
    days = BLOCK_DAYS if total.span == Span.BLOCK else 1
    start = datetime.combine(total.starts, time(), UTC)
    others = RuleCount.objects.filter(
        run__pipeline_id=run.pipeline_id,
        run__kind__in=SOURCE_LOADS,
        run__queued_at__gte=start,
        run__queued_at__lt=start + timedelta(days=days),
        violations__gt=0,
        **{name: value for name, value in group.columns.items() if value is not None},
    )
    if group.field is None and group.kind != GroupKind.PIPELINE:
        others = others.filter(field=None)
    newest: datetime | None = others.exclude(run_id=run.pk).aggregate(newest=Max("run__queued_at"))["newest"]
    return newest


def _spans_of(day: date) -> Iterator[tuple[Span, date]]:
    yield Span.DAY, day
    yield Span.BLOCK, block_of(day)


def block_of(day: date) -> date:
    """Return the first day of the block that contains the day."""
    return day - timedelta(days=day.toordinal() % BLOCK_DAYS)


def spans_between(first: date, last: date, of: str = "") -> Q:
    """Return a filter for the totals that together cover the days from first to last, each day once. `of` is the prefix
    of their columns in a query of another table."""
    start = block_of(first + timedelta(days=BLOCK_DAYS - 1))
    end = block_of(last + timedelta(days=1))
    if start >= end:
        return _spans(of, Span.DAY, first, last + timedelta(days=1))
    before, after = _spans(of, Span.DAY, first, start), _spans(of, Span.DAY, end, last + timedelta(days=1))
    return before | _spans(of, Span.BLOCK, start, end) | after


def _spans(of: str, span: Span, start: date, end: date) -> Q:
    return Q(**{f"{of}span": span, f"{of}starts__gte": start, f"{of}starts__lt": end})
