"""Totals of violations equal the sum over runs, whatever happens to runs."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from executors.model import RuleCount as Counted
from executors.report import NodeReport, RunReport
from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.processes.retention import delete_old_rows
from flowapp.quarantine.counts import GROUPS, count_violations
from flowapp.quarantine.models import ViolationTotal
from flowapp.quarantine.totals import BLOCK_DAYS, MOST_DAYS, block_of, spans_between
from flowapp.runs.models import RuleCount, Run, Trigger
from flowapp.runs.reports import save_report

DAYS = 25
RULES = (("check", "r1", "id"), ("check", "r2", "id"), ("check", "r2", None), ("other", "r1", ""))


def report(violations: tuple[int, ...]) -> RunReport:
    rules = [
        Counted(node, rule, "notNull", field, "skip", n)
        for (node, rule, field), n in zip(RULES, violations, strict=True)
    ]
    return RunReport(nodes=[NodeReport("check", "validate")], rules=rules)


COUNTS = st.tuples(*[st.integers(0, 3)] * len(RULES))
STEPS = st.one_of(
    st.tuples(
        st.just("record"),
        st.integers(0, 1),
        st.integers(0, DAYS - 1),
        st.sampled_from(["load", "replay", "fix"]),
        COUNTS,
    ),
    st.tuples(st.just("again"), st.integers(0, 9), COUNTS),
    st.tuples(st.just("repeat"), st.integers(0, 9)),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("delete pipeline"), st.integers(0, 1)),
)


class World:
    """Two pipelines whose runs are recorded, recorded again and deleted."""

    def __init__(self) -> None:
        self.workspace = Workspace.objects.create(slug=f"w-{uuid4().hex[:12]}")
        self.now = timezone.now()
        self.number = 0

    def pipeline(self, which: int) -> Pipeline:
        found, _ = Pipeline.objects.get_or_create(workspace=self.workspace, slug=f"p{which}")
        return found

    def run(self, which: int) -> Run | None:
        runs = list(Run.objects.filter(workspace=self.workspace).order_by("number"))
        return runs[which % len(runs)] if runs else None

    def take(self, step: tuple[Any, ...]) -> None:
        name, which, *rest = step
        if name == "record":
            self._record(self.pipeline(which), *rest)
        elif name == "delete pipeline":
            self.pipeline(which).delete()
        elif run := self.run(which):
            if name == "delete":
                run.delete()
            else:
                violations = tuple(run.rules.order_by("position").values_list("violations", flat=True))
                save_report(run, report(rest[0] if rest else violations))

    def _record(self, pipeline: Pipeline, age: int, kind: str, violations: tuple[int, ...]) -> None:
        self.number += 1
        version, _ = PipelineVersion.objects.get_or_create(
            pipeline=pipeline, number=1, defaults={"workspace": self.workspace, "document": "{}"}
        )
        run = Run.objects.create(
            workspace=self.workspace,
            pipeline=pipeline,
            version=version,
            number=self.number,
            kind=kind,
            state="succeeded",
            trigger=Trigger.MANUAL,
            queued_at=self.now - timedelta(days=age, seconds=self.number),
            due_at=self.now,
            ended_at=self.now,
        )
        save_report(run, report(violations))


def summed(workspace: Workspace, by: str, days: int) -> list[tuple[Any, ...]]:
    """Return the result of `count_violations`, computed from the counts of the runs alone."""
    first = timezone.localdate() - timedelta(days=days - 1)
    violations, runs, newest = Counter[Any](), dict[Any, set[Any]](), dict[Any, Any]()
    for rule in RuleCount.objects.filter(workspace=workspace, violations__gt=0).select_related("run__pipeline"):
        run = rule.run
        if run.kind != "load" or run.queued_at.date() < first:
            continue
        values = {"pipeline": run.pipeline.slug, "day": run.queued_at.date(), **vars(rule)}
        group = tuple(values[name] for name in GROUPS[by])
        violations[group] += rule.violations
        runs.setdefault(group, set()).add(run.pk)
        newest[group] = max(newest.get(group, run.queued_at), run.queued_at)
    return sorted(((*group, n, len(runs[group]), newest[group]) for group, n in violations.items()), key=repr)


@pytest.mark.django_db
@given(st.lists(STEPS, max_size=12), st.integers(1, DAYS))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_totals_equal_the_sums_over_runs(steps: list[tuple[Any, ...]], days: int) -> None:
    with transaction.atomic():
        world = World()
        for step in steps:
            world.take(step)
        for by in GROUPS:
            counted = count_violations(world.workspace, by, days=days)
            assert sorted((tuple(row.values()) for row in counted), key=repr) == summed(world.workspace, by, days)
        transaction.set_rollback(True)


@given(st.dates(date(2020, 1, 1), date(2030, 1, 1)), st.integers(0, 95))
def test_spans_cover_each_day_once(first: date, more: int) -> None:
    last = first + timedelta(days=more)
    covered = Counter[date]()
    for span in _intervals(spans_between(first, last)):
        covered.update(span)
    assert covered == Counter(first + timedelta(days=n) for n in range(more + 1))


def _intervals(spans: Any) -> list[list[date]]:
    """The days of each part of a condition on spans."""
    parts = [part for part in spans.children if not isinstance(part, tuple)] or [spans]
    found = []
    for part in parts:
        values = dict(part.children)
        start, end = values["starts__gte"], values["starts__lt"]
        assert values["span"] == "day" or (start == block_of(start) and end == block_of(end))
        found.append([start + timedelta(days=n) for n in range((end - start).days)])
    return found


def test_a_run_that_is_recorded_twice_changes_no_total(db: None) -> None:
    world = World()
    world.take(("record", 0, 0, "load", (1, 2, 0, 0)))
    before = list(ViolationTotal.objects.order_by("pk").values())
    world.take(("repeat", 0))

    assert list(ViolationTotal.objects.order_by("pk").values()) == before


def test_the_number_of_totals_does_not_depend_on_runs(db: None) -> None:
    world = World()
    world.take(("record", 0, 0, "load", (1, 1, 1, 1)))
    before = ViolationTotal.objects.count()
    for _ in range(3):
        world.take(("record", 0, 0, "load", (5, 5, 5, 5)))

    assert ViolationTotal.objects.count() == before


def test_old_totals_are_deleted(db: None) -> None:
    world = World()
    world.take(("record", 0, MOST_DAYS + 2 * BLOCK_DAYS, "load", (1, 0, 0, 0)))
    world.take(("record", 0, MOST_DAYS - 1, "load", (1, 0, 0, 0)))
    delete_old_rows()

    assert [row["violations"] for row in count_violations(world.workspace, "pipeline", days=MOST_DAYS)] == [1]
    assert ViolationTotal.objects.count() == 6
