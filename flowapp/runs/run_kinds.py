"""The kinds of run: one table that says how each is executed and which page shows it. Apps above register theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from executors.api import RunKindName, list_steps
from executors.api import run as run_attempt
from executors.model import BackupRef, RowsRef, RunJob, RunReport
from executors.ports import Ports
from flowapp.registrations import load_registrations
from flowapp.runs.models import COUNTED, Run, RunKind
from flowapp.web.htmx import HtmxRequest

Engine = Callable[[RunJob, Ports], RunReport]


@dataclass(frozen=True, slots=True)
class OverRows:
    """How the page of a run over rejected rows describes it. `loads` means that the run loads the rows and stores each
    row's result beside the target. `lists` means that it lists its finding for each row, from which users choose the
    rows that may replace others. `decides` means that it applies users' decisions to the rows."""

    title: str
    loads: bool = False
    lists: bool = False
    decides: bool = False
    note: str = ""

    @property
    def results(self) -> str:
        return "Expected outcome of the rows" if self.lists else "Outcome of the rows"


@dataclass(frozen=True, slots=True)
class RunKindSpec:
    """`page` is a template, `fragment` the part of it that changes while the run goes on.

    `loads` says that it loads what comes from the source: it goes through all nodes, and its success says that the
    pipeline works again. `shows_effects` says that the result is what a load would change; `backup` gives what a run
    puts back, `rows` the rejected rows that it is about, `over_rows` how its page speaks of them, and
    `page_context` what its page shows beside what every run's shows. `fixes` says that
    it computes an expression for them, `changes_nothing` that it changes nothing anywhere. `tag` marks it in
    lists, and `again` is what the button says that runs the pipeline after it.
    """

    kind: RunKind
    page: str
    fragment: str
    loads: bool = False
    shows_effects: bool = False
    fixes: bool = False
    changes_nothing: bool = False
    tag: str = ""
    again: str = "Run again"
    backup: Callable[[Run], BackupRef | None] = lambda run: None
    rows: Callable[[Run], RowsRef | None] = lambda run: None
    over_rows: OverRows | None = None
    page_context: Callable[[HtmxRequest, Run], dict[str, Any]] = lambda request, run: {}

    @property
    def counts(self) -> bool:
        """Whether the run counts as a run of its pipeline."""
        return self.kind in COUNTED

    @property
    def name(self) -> RunKindName:
        """The kind's name in `executors`."""
        return cast("RunKindName", self.kind.value)

    @property
    def engine(self) -> Engine:
        return partial(run_attempt, self.name)

    @property
    def runs_post_hooks(self) -> bool:
        return any(step.name == "post_hooks" for step in list_steps(self.name))


_SPECS = (
    RunKindSpec(
        RunKind.LOAD,
        "runs/detail.html",
        "runs/_live.html",
        loads=True,
    ),
    RunKindSpec(
        RunKind.PREVIEW,
        "runs/preview.html",
        "runs/_preview.html",
        shows_effects=True,
    ),
)
_RUN_KINDS: dict[RunKind, RunKindSpec] = {}


def register(*specs: RunKindSpec) -> None:
    """Add kinds of run. Raises ValueError for a kind that is registered already."""
    for spec in specs:
        if spec.kind in _RUN_KINDS:
            raise ValueError(f"The kind {spec.kind} is registered already.")
        _RUN_KINDS[spec.kind] = spec


register(*_SPECS)


def spec_of(kind: str) -> RunKindSpec:
    """Return the specification of a kind. Raises ValueError for an unknown kind."""
    load_registrations()
    return _RUN_KINDS[RunKind(kind)]


def run_kind_of(run: Run) -> RunKindSpec:
    return spec_of(run.kind)
