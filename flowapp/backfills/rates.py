"""The budget of requests to a source, shared by all workers through Redis."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import cache

import redis
from django.conf import settings

from executors.api import Cancellation
from executors.errors import Transient
from ir.backfill import Rate

MOST_AHEAD = 1.0
"""A process reserves requests at most this many seconds ahead: those of a killed process are lost."""
LOOK_SECONDS = 0.2
"""How long a process waits at most before it looks for a cancellation."""

_TAKE = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local interval, wanted, ahead, period = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local next_free = math.max(tonumber(redis.call('GET', KEYS[1]) or '0'), now)
local wait = next_free - now
if wait > ahead then return {0, wait - ahead} end
local until_free = next_free + interval * wanted
redis.call('SET', KEYS[1], string.format('%.0f', until_free), 'PX', math.ceil((until_free - now) / 1000) + 1000)
local counter = KEYS[2] .. ':' .. math.floor(now / period)
redis.call('INCRBY', counter, wanted)
redis.call('PEXPIRE', counter, math.ceil(2 * period / 1000))
return {1, wait}
"""
"""Reserves `wanted` requests, one `interval` after the other; returns how long to wait for the first of them. Without a
reservation, it returns how long to wait before the next try. All times are microseconds of the server's clock."""
_USED = """
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local period = tonumber(ARGV[1])
local current = math.floor(now / period)
local this, last = redis.call('GET', KEYS[1] .. ':' .. current), redis.call('GET', KEYS[1] .. ':' .. (current - 1))
local part = (now - current * period) / period
return math.floor(tonumber(this or '0') + tonumber(last or '0') * (1 - part) + 0.5)
"""


_next_free: dict[str, float] = {}
_lock = threading.Lock()


@cache
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=3)


@dataclass(frozen=True, slots=True)
class SharedRate:
    """The engine's `RateBudget`. All processes that use the same `key` share the rate, which Redis counts with its own
    clock. In an installation without Redis, only the runs of one process share it.

    Requests are spaced evenly and not saved up: at most one more than the rate begins in any period."""

    key: str
    rate: Rate
    cancellation: Cancellation

    def take(self, requests: int = 1) -> None:
        """Wait until so many requests may be sent. Raises the reason to end the run, and Transient if Redis does not
        answer."""
        reserved = False
        while not reserved:
            self.cancellation.check()
            reserved, seconds = self._reserve(requests) if settings.REDIS_URL else self._reserve_here(requests)
            self._sleep(seconds)

    def _reserve_here(self, requests: int) -> tuple[bool, float]:
        with _lock:
            now = time.monotonic()
            first = max(_next_free.get(self.key, 0.0), now)
            if first - now > MOST_AHEAD:
                return False, first - now - MOST_AHEAD
            _next_free[self.key] = first + requests * self.rate.seconds / self.rate.requests
            return True, first - now

    def _reserve(self, requests: int) -> tuple[bool, float]:
        interval = self.rate.seconds * 1_000_000 / self.rate.requests
        arguments = (interval, requests, MOST_AHEAD * 1_000_000, self.rate.seconds * 1_000_000)
        try:
            client = _client(settings.REDIS_URL)
            done, wait = client.eval(_TAKE, 2, _tat_key(self.key), _used_key(self.key), *arguments)
        except redis.RedisError as error:
            raise Transient(
                "backfill.rate_unknown",
                "The broker, which counts the requests to the source, does not answer.",
                hint="Make the broker available again. The run is retried.",
            ) from error
        return bool(done), int(wait) / 1_000_000

    def _sleep(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, LOOK_SECONDS))
            self.cancellation.check()


def requests_used(key: str, rate: Rate) -> int | None:
    """Return the number of requests in the last period of the rate; None if it is unknown."""
    if not settings.REDIS_URL:
        return None
    try:
        return int(_client(settings.REDIS_URL).eval(_USED, 1, _used_key(key), rate.seconds * 1_000_000))
    except redis.RedisError:
        return None


def _tat_key(key: str) -> str:
    return f"flow:rate:{{{key}}}:next"


def _used_key(key: str) -> str:
    return f"flow:rate:{{{key}}}:used"
