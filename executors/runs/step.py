"""A step of a run, and the runner that goes through a tuple of them."""

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

    `name` is what events report, `label` what pages show, and `may_commit` says that something can have been committed
    once the step has begun. `run` holds its actions: each takes the frozen state and returns the next one. `when` tells
    whether a state needs the step at all.

    A step `of_run` concerns no single target; it runs even after a cancellation, because nothing is open yet or
    everything is committed. An `occasional` one is not part of every run of its kind. One that is not `announced` is
    announced by its actions, which know whether there is anything to do.
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
        """This step with its actions."""
        step: Step[Any] = self
        return replace(step, run=actions)

    def only_if(self, condition: Callable[[S], bool]) -> Step[S]:
        """This step, for those of its states that need it."""
        needed = self.when
        return replace(self, when=lambda state: needed(state) and condition(state))


CleanUp = Callable[[S, BaseException | None], None]


def run_steps(
    steps: Iterable[Step[S]], state: S, ports: Ports, node: str, clean_up: CleanUp[S] = lambda state, error: None
) -> S:
    """Go through the steps of the target `node`; returns the last state.

    `clean_up` gets the last state and what ended the steps early, None if nothing did. What it raises takes the place
    of that.
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
