"""What runs are for: one table from purpose to what executes it and where its page is. Apps above add theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from executors.api import RunKind, list_steps
from executors.api import run as run_attempt
from executors.model import BackupRef, RowsRef, RunJob, RunReport
from executors.ports import Ports
from flowapp.registrations import load_registrations
from flowapp.runs.models import COUNTED, Purpose, Run
from flowapp.web.htmx import HtmxRequest

Engine = Callable[[RunJob, Ports], RunReport]


@dataclass(frozen=True, slots=True)
class OverRows:
    """How the page of a run over rejected rows speaks of it. `loads` says that what it finds comes true, and that what
    became of each row is kept beside the target; `lists` that it tells what it found of each row, from which those that
    may replace others are chosen. `decides` says that it does to the rows what somebody has decided."""

    title: str
    loads: bool = False
    lists: bool = False
    decides: bool = False
    note: str = ""

    @property
    def results(self) -> str:
        return "Expected outcome of the rows" if self.lists else "Outcome of the rows"


@dataclass(frozen=True, slots=True)
class PurposeSpec:
    """`page` is a template, `fragment` the part of it that changes while the run goes on.

    `loads` says that it loads what comes from the source: it goes through all nodes, and its success says that the
    pipeline works again. `tells_effects` says that the result is what a load would change; `backup` gives what a run
    puts back, `rows` the rejected rows that it is about, `over_rows` how its page speaks of them, and
    `page_context` what its page shows beside what every run's shows. `mends` says that
    it computes an expression for them, `only_tells` that it changes nothing anywhere. `tag` marks it in
    lists, and `again` is what the button says that runs the pipeline after it.
    """

    purpose: Purpose
    page: str
    fragment: str
    loads: bool = False
    tells_effects: bool = False
    mends: bool = False
    only_tells: bool = False
    tag: str = ""
    again: str = "Run again"
    backup: Callable[[Run], BackupRef | None] = lambda run: None
    rows: Callable[[Run], RowsRef | None] = lambda run: None
    over_rows: OverRows | None = None
    page_context: Callable[[HtmxRequest, Run], dict[str, Any]] = lambda request, run: {}

    @property
    def counts(self) -> bool:
        """Whether it counts as a run of its pipeline."""
        return self.purpose in COUNTED

    @property
    def kind(self) -> RunKind:
        """What `executors` calls it."""
        return cast("RunKind", self.purpose.value)

    @property
    def engine(self) -> Engine:
        return partial(run_attempt, self.kind)

    @property
    def runs_post_hooks(self) -> bool:
        return any(step.name == "post_hooks" for step in list_steps(self.kind))


_SPECS = (
    PurposeSpec(
        Purpose.LOAD,
        "runs/detail.html",
        "runs/_live.html",
        loads=True,
    ),
    PurposeSpec(
        Purpose.PREVIEW,
        "runs/preview.html",
        "runs/_preview.html",
        tells_effects=True,
    ),
)
_PURPOSES: dict[Purpose, PurposeSpec] = {}
LOADS = (Purpose.LOAD,)
"""Purposes of runs that load what comes from the source."""


def register(*specs: PurposeSpec) -> None:
    """Let runs be for these. Raises ValueError for a purpose that is taken."""
    for spec in specs:
        if spec.purpose in _PURPOSES:
            raise ValueError(f"There are runs for {spec.purpose} already.")
        _PURPOSES[spec.purpose] = spec


register(*_SPECS)


def spec_of(purpose: str) -> PurposeSpec:
    """Raises ValueError for what is no purpose."""
    load_registrations()
    return _PURPOSES[Purpose(purpose)]


def purpose_of(run: Run) -> PurposeSpec:
    return spec_of(run.purpose)
