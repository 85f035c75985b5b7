"""The input of a hook, and what each kind of hook declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from executors.errors import Failure
from executors.model import Connection, WebhookConnection
from ir.hooks.base import BaseHook


class Interruption:
    """How the hook that runs right now can be made to end, from another thread."""

    def __init__(self) -> None:
        self._stop: Callable[[], None] | None = None

    @contextmanager
    def by(self, stop: Callable[[], None]) -> Iterator[None]:
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None

    def interrupt(self) -> None:
        if stop := self._stop:
            with suppress(Failure):
                stop()


@dataclass(frozen=True, slots=True)
class HookCall:
    """One hook about to run. `facts` tell of the load what may leave Flow: names and counts, never a row.

    `key` stays the same when the hook is run again, so that a receiver can tell. `patience` is how long its SQL may
    wait for a lock; 0 is for as long as it may take.
    """

    hook: BaseHook
    key: str
    facts: Mapping[str, Any]
    schema: str
    connection: Connection
    webhooks: Mapping[str, WebhookConnection]
    interruption: Interruption = field(default_factory=Interruption)
    patience: str = "0"


@dataclass(frozen=True, slots=True)
class HookHandler:
    """`statement` says what a hook does, `run` does it: it answers what came of that, or raises Failure."""

    kind: str
    statement: Callable[[BaseHook], str]
    run: Callable[[HookCall], str]
