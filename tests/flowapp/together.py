"""Doing things at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connections

from ir.errors import FlowError


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Make the calls in threads that start together; return their results."""
    barrier = threading.Barrier(len(calls))

    def call(function: Callable[[], Any]) -> Any:
        try:
            barrier.wait(timeout=10)
            return function()
        except FlowError as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))
