"""How long calls are retried if a Spark Connect server does not answer."""

from __future__ import annotations

import itertools

import pytest
from grpc import RpcError, StatusCode  # type: ignore[import-untyped]
from pyspark.sql.connect.client.retries import RetryPolicyState

from executors.spark import server
from executors.spark.server import PATIENCE, NoAnswerPolicy


class NoAnswer(RpcError):  # type: ignore[misc]
    def code(self) -> StatusCode:
        return StatusCode.UNAVAILABLE


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Set the time that the policy reads."""
    now = [1000.0]
    monkeypatch.setattr(server, "monotonic", lambda: now[0])
    return now


def asked_again(call: RetryPolicyState, clock: list[float]) -> float:
    """Return the seconds until a call without an answer fails."""
    began = clock[0]
    for _ in itertools.count():
        wait = call.next_attempt(NoAnswer())
        if wait is None:
            return clock[0] - began
        clock[0] += wait / 1000


def test_an_unreachable_server_is_retried_for_a_while(clock: list[float]) -> None:
    assert PATIENCE <= asked_again(NoAnswerPolicy().to_state(), clock) < PATIENCE + 3


def test_a_long_call_that_breaks_off_again_has_the_same_time_again(clock: list[float]) -> None:
    call = NoAnswerPolicy().to_state()
    call.next_attempt(NoAnswer())
    clock[0] += 3600
    assert asked_again(call, clock) >= PATIENCE
