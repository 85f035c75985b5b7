"""The runner of steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from executors.errors import Cancelled, Terminal
from executors.runs.step import Step, run_steps
from tests.executors.conformance.world import Memory


@dataclass(frozen=True)
class Count:
    value: int = 0


def add(state: Count) -> Count:
    return replace(state, value=state.value + 1)


def fail(state: Count) -> Count:
    raise Terminal("case.failed", "It failed.")


ONE = Step("one", "One", run=(add,))
TWO = Step("two", "Two", run=(add, add))


def test_each_action_gets_the_state_of_the_one_before() -> None:
    memory = Memory()

    assert run_steps((ONE, TWO), Count(), memory.ports(), "load") == Count(3)
    assert memory.steps == [("one", "load"), ("two", "load")]


def test_a_step_that_no_state_needs_is_not_announced() -> None:
    memory = Memory()

    assert run_steps((ONE.only_if(lambda state: state.value > 0), TWO), Count(), memory.ports(), "load") == Count(2)
    assert memory.steps == [("two", "load")]


def test_conditions_of_a_step_add_up() -> None:
    step = ONE.only_if(lambda state: state.value > 0).only_if(lambda state: state.value < 2)

    assert [step.when(Count(value)) for value in (0, 1, 2)] == [False, True, False]


def test_the_clean_up_gets_the_state_that_was_reached() -> None:
    seen: list[tuple[Count, str]] = []

    def clean_up(state: Count, error: BaseException | None) -> None:
        seen.append((state, getattr(error, "code", "")))

    with pytest.raises(Terminal, match="It failed"):
        run_steps((ONE, replace(TWO, run=(add, fail, add))), Count(), Memory().ports(), "load", clean_up)
    run_steps((ONE,), Count(), Memory().ports(), "load", clean_up)

    assert seen == [(Count(2), "case.failed"), (Count(1), "")]


def test_what_the_clean_up_raises_takes_the_place_of_the_failure() -> None:
    def clean_up(state: Count, error: BaseException | None) -> None:
        raise Cancelled("run.cancelled", "Cancelled.")

    with pytest.raises(Cancelled):
        run_steps((replace(ONE, run=(fail,)),), Count(), Memory().ports(), "load", clean_up)


def test_a_cancellation_ends_a_run_before_its_next_step() -> None:
    memory = Memory(stop=Cancelled("run.cancelled", "Cancelled."))

    with pytest.raises(Cancelled):
        run_steps((ONE,), Count(), memory.ports(), "load")

    assert memory.steps == []


def test_a_step_of_the_run_is_entered_after_a_cancellation() -> None:
    memory = Memory(stop=Cancelled("run.cancelled", "Cancelled."))

    assert run_steps((replace(ONE, of_run=True),), Count(), memory.ports(), "load") == Count(1)
    assert memory.steps == [("one", None)]


def test_a_step_that_is_announced_by_its_actions_is_not_announced_by_the_runner() -> None:
    memory = Memory()

    assert run_steps((replace(ONE, announced=False),), Count(), memory.ports(), "load") == Count(1)
    assert memory.steps == []
