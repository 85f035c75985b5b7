"""The Spark Connect server: how it is reached, and for how long one that does not answer is asked again.

Left to itself pyspark asks a server that is gone for ten minutes, and waits for a frozen one as long again.
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
"""Seconds that a server is asked again after it did not answer. One that was started again has no session of ours left,
so this is for networks that fail for a moment."""

_OPTIONS = [
    # A connection that is silent for so long is asked whether it lives, and given up when that is not answered in
    # time. A server takes a ping in 10 s, no more; pyspark's own setting for the answer's time does nothing.
    ("grpc.keepalive_time_ms", 15_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),  # else who only waits for an answer pings once a minute
    ("grpc.min_reconnect_backoff_ms", 5_000),  # what a frozen server takes of each attempt to connect
    ("grpc.max_reconnect_backoff_ms", 5_000),  # else up to two minutes, in which one that is back is taken for gone
]


def open_session(address: str) -> SparkSession:
    """A new session at `sc://host:port`. Nothing is asked of the server yet."""
    channel = DefaultChannelBuilder(address, _OPTIONS)
    # What `SparkSession.builder.remote` does; it takes no channel. pyspark's functions look for it.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    return ConnectSession.builder.channelBuilder(channel).create()  # type: ignore[return-value]  # the Spark Connect twin of the class


def limit_retries(session: SparkSession) -> None:
    """Have calls in it fail when the server did not answer for `PATIENCE` seconds; new sessions take none over."""
    session.client.set_retry_policies([NoAnswerPolicy(), DefaultPolicy()])


class NoAnswerPolicy(RetryPolicy):
    """Tries again for `PATIENCE` seconds what no server has answered. Other answers are left to pyspark's policy."""

    def __init__(self) -> None:
        super().__init__(initial_backoff=50, max_backoff=2_000, backoff_multiplier=4.0)

    def can_retry(self, exception: BaseException) -> bool:
        return isinstance(exception, RpcError) and exception.code() == StatusCode.UNAVAILABLE

    def to_state(self) -> RetryPolicyState:
        return _NoAnswerState(self)


class _NoAnswerState(RetryPolicyState):
    """Of one call, which may last for hours and break off more than once: each time has its own `PATIENCE`."""

    _since = _last = float("-inf")

    def next_attempt(self, exception: BaseException | None = None) -> int | None:
        now = monotonic()
        if now - self._last > 3 * PATIENCE:  # longer than any attempt takes to fail: there was an answer meanwhile
            self._since, self._next_wait = now, self.policy.initial_backoff
        self._last = now
        return super().next_attempt(exception) if now - self._since < PATIENCE else None
