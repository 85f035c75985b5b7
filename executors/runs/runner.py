"""Runs one attempt, from its first step to its report or to the failure that ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from executors.errors import Failure
from executors.model import RunJob
from executors.ports import Ports
from executors.report import RunReport
from executors.runs.state import Run
from executors.runs.step import Step, enter
from executors.runs.target_run import TargetRun

TargetAction = Callable[[Run, TargetRun], TargetRun]


@dataclass(frozen=True, slots=True)
class EachTarget:
    """The part of a run that is repeated for each target: `steps` in their order, entered by `run`.

    Each action of `run` returns the current target, so that the state is known if the next action fails.
    """

    steps: tuple[Step[Any], ...]
    run: tuple[TargetAction, ...]


@dataclass(frozen=True, slots=True)
class RunProcedure:
    """A kind of run over the targets of a pipeline: the steps of the whole run, including those of each target.

    `open` returns the first state; the stack closes what it opens. `give_up` cleans up after a failure for the next
    attempt or run; it gets the cause of the failure.
    """

    open: Callable[[RunJob, Ports, ExitStack], Run]
    parts: tuple[Step[Run] | EachTarget, ...]
    give_up: Callable[[Run, Failure], None] = lambda run, cause: None

    @property
    def steps(self) -> tuple[Step[Any], ...]:
        """All steps of this kind, in order."""
        return tuple(step for part in self.parts for step in (part.steps if isinstance(part, EachTarget) else (part,)))


def carry_out(kind: RunProcedure, job: RunJob, ports: Ports) -> RunReport:
    """Run one attempt and return its report. Raises the `Failure` that ended it, with the report so far as `report`."""
    with ExitStack() as stack:
        run = kind.open(job, ports, stack)
        try:
            for reached in _states(kind, run):
                run = reached
        except Failure as failure:
            cause = cause_of(failure, ports)
            kind.give_up(run, cause)
            cause.report = run.context.report
            if cause is failure:
                raise
            raise cause from failure
    return run.context.report


def _states(kind: RunProcedure, run: Run) -> Iterator[Run]:
    """Yield each state of the run."""
    for part in kind.parts:
        if isinstance(part, EachTarget):
            for node in [target.path.target.id for target in run.targets]:
                for action in part.run:
                    target = next(target for target in run.targets if target.path.target.id == node)
                    run = run.with_target(action(run, target))
                    yield run
        else:
            enter(part, run.context.ports, "")
            for act in part.run:
                run = act(run)
                yield run


def cause_of(failure: Failure, ports: Ports) -> Failure:
    """Return the actual reason for the end of the run: interrupted work fails with unrelated errors."""
    try:
        ports.cancellation.check()
    except Failure as cause:
        return cause
    return failure
