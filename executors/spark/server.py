"""Connects to a Spark Connect server, and limits how long calls are retried if it does not answer.

By default pyspark retries for ten minutes if the server is down, and waits for another ten if it hangs.
"""

from __future__ import annotations

import os
from time import monotonic

from grpc import RpcError, StatusCode  # type: ignore[import-untyped]  # grpc has no types
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.core import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy, RetryPolicy, RetryPolicyState
from pyspark.sql.connect.session import SparkSession as ConnectSession

PATIENCE = 10.0
"""Seconds for which a call is retried if the server does not answer. A restarted server has lost the session, so this
only bridges short network failures."""

_OPTIONS = [
    # After this much silence the client pings the server, and closes the connection if no answer arrives in time. A
    # server accepts a ping every 10 s at most. pyspark's own setting for the timeout has no effect.
    ("grpc.keepalive_time_ms", 15_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),  # otherwise a client that only waits for an answer pings once a minute
    ("grpc.min_reconnect_backoff_ms", 5_000),  # the time in which an attempt to connect to a hanging server fails
    ("grpc.max_reconnect_backoff_ms", 5_000),  # the default is two minutes
]


def open_session(address: str) -> SparkSession:
    """Return a new session at `sc://host:port`. No request is sent yet."""
    channel = DefaultChannelBuilder(address, _OPTIONS)
    # The same as `SparkSession.builder.remote`, which accepts no channel. The functions of pyspark check this variable.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    return ConnectSession.builder.channelBuilder(channel).create()  # type: ignore[return-value]  # the Spark Connect twin of the class


def limit_retries(session: SparkSession) -> None:
    """Limit the retries of calls in this session to `PATIENCE` seconds. New sessions do not inherit the limit."""
    session.client.set_retry_policies([NoAnswerPolicy(), DefaultPolicy()])


class NoAnswerPolicy(RetryPolicy):
    """Retries calls that no server has answered for `PATIENCE` seconds. pyspark's policy handles all other errors."""

    def __init__(self) -> None:
        super().__init__(initial_backoff=50, max_backoff=2_000, backoff_multiplier=4.0)

    def can_retry(self, exception: BaseException) -> bool:
        return isinstance(exception, RpcError) and exception.code() == StatusCode.UNAVAILABLE

    def to_state(self) -> RetryPolicyState:
        return _NoAnswerState(self)


class _NoAnswerState(RetryPolicyState):
    """The state of one call. A call can run for hours and lose its connection several times; each time it is retried
    for `PATIENCE` seconds."""

    _since = _last = float("-inf")

    def next_attempt(self, exception: BaseException | None = None) -> int | None:
        now = monotonic()
        if now - self._last > 3 * PATIENCE:  # longer than any attempt takes to fail
            self._since, self._next_wait = now, self.policy.initial_backoff
        self._last = now
        return super().next_attempt(exception) if now - self._since < PATIENCE else None
