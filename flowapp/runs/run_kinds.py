"""The kinds of runs: a table with their engine and their page. Apps above register their kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from executors.api import Ports, RunKindName, list_steps
from executors.api import run as run_attempt
from executors.model import BackupRef, FileUndo, RowsRef, RunJob
from executors.report import RunReport
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
    """A kind of run. `page` is its template, `fragment` the part of it that changes during the run.

    `loads` means that it loads the source through all nodes, so that its success resolves the pipeline's alerts.
    `shows_effects` means that its result is what a load would change. `fixes` means that it computes an expression for
    rejected rows, `changes_nothing` that it has no effect. `backup` returns the backup that a run restores, `rows` the
    rejected rows that it processes, `undo` the file whose rows it deletes; `over_rows` describes a run over rejected
    rows on its page. `page_context` returns the additional
    context of its page. `tag` marks it in lists, and `again` is the label of the button that runs the pipeline after
    it.

    `engine_name` is the kind's name in `executors` if it differs, `own_engine` a function that executes it instead.
    `chunk_key` identifies the chunk of the source that a run loads, and has a fence of its own in the target.
    `add_to_job` and `add_to_ports` complete the input of an attempt. `after_success` is called in the transaction that
    ends a successful attempt; if it returns true, the run does not end but is parked. A run
    that `repeats` commits its targets again and again, so that no commit is its end. Workers execute a kind that
    `yields` only if no other run waits for them."""

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
    undo: Callable[[Run], FileUndo | None] = lambda run: None
    over_rows: OverRows | None = None
    page_context: Callable[[HtmxRequest, Run], dict[str, Any]] = lambda request, run: {}
    engine_name: RunKindName | None = None
    own_engine: Engine | None = None
    chunk_key: Callable[[Run], str] = lambda run: ""
    add_to_job: Callable[[Run, RunJob], RunJob] = lambda run, job: job
    add_to_ports: Callable[[Run, Ports], Ports] = lambda run, ports: ports
    after_success: Callable[[Run, RunReport], bool] = lambda run, report: False
    repeats: bool = False
    yields: bool = False

    @property
    def counts(self) -> bool:
        """Whether the run counts as a run of its pipeline."""
        return self.kind in COUNTED

    @property
    def name(self) -> RunKindName:
        """The kind's name in `executors`."""
        return self.engine_name or cast("RunKindName", self.kind.value)

    @property
    def engine(self) -> Engine:
        return self.own_engine or partial(run_attempt, self.name)

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
    """Add kinds of runs. Raises ValueError if a kind is already registered."""
    for spec in specs:
        if spec.kind in _RUN_KINDS:
            raise ValueError(f"The kind {spec.kind} is registered already.")
        _RUN_KINDS[spec.kind] = spec


register(*_SPECS)


def spec_of(kind: str) -> RunKindSpec:
    """Return the specification of a kind. Raises ValueError for an unknown kind."""
    load_registrations()
    return _RUN_KINDS[RunKind(kind)]


def list_yielding() -> list[RunKind]:
    """Return the kinds that let other runs go first."""
    load_registrations()
    return [spec.kind for spec in _RUN_KINDS.values() if spec.yields]


def run_kind_of(run: Run) -> RunKindSpec:
    return spec_of(run.kind)
