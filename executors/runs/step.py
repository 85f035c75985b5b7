"""A step of a run, and the function that runs a tuple of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from executors.ports import Ports

S = TypeVar("S")
T = TypeVar("T")
Action = Callable[[S], S]


@dataclass(frozen=True, slots=True)
class Step(Generic[S]):
    """One step of a run.

    Events report its `name`, pages show its `label`. `may_commit` means that something may have been committed once the
    step has begun. `run` are its actions: each takes a frozen state and returns the next one. `when` returns whether a
    state needs the step.

    A step `of_run` belongs to no single target and runs even after a cancellation, because nothing is open yet or
    everything is committed. An `occasional` step is not part of every run of its kind. If a step is not `announced`,
    its actions announce it when they have something to do.
    """

    name: str
    label: str
    may_commit: bool = False
    run: tuple[Action[S], ...] = ()
    when: Callable[[S], bool] = lambda state: True
    of_run: bool = False
    occasional: bool = False
    announced: bool = True

    def does(self, *actions: Action[T]) -> Step[T]:
        """Return this step with its actions."""
        step: Step[Any] = self
        return replace(step, run=actions)

    def only_if(self, condition: Callable[[S], bool]) -> Step[S]:
        """Return this step restricted to states that fulfil a condition."""
        needed = self.when
        return replace(self, when=lambda state: needed(state) and condition(state))


CleanUp = Callable[[S, BaseException | None], None]


def run_steps(
    steps: Iterable[Step[S]], state: S, ports: Ports, node: str, clean_up: CleanUp[S] = lambda state, error: None
) -> S:
    """Run the steps for the target `node` and return the last state.

    `clean_up` gets the last state and the error that ended the steps, None without an error. An error that it raises
    replaces that error.
    """
    try:
        for step in steps:
            if step.when(state):
                enter(step, ports, node)
                for action in step.run:
                    state = action(state)
    except BaseException as error:
        clean_up(state, error)
        raise
    clean_up(state, None)
    return state


def enter(step: Step[Any], ports: Ports, node: str) -> None:
    """Announce a step, unless its actions do. Raises `Cancelled` or `LeaseLost` if the run must end."""
    if not step.announced:
        return
    if step.of_run:
        ports.events.step(step.name)
        return
    ports.cancellation.check()
    ports.events.step(step.name, node)
