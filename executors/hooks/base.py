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
    """Stops the running hook from another thread."""

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
    """One hook to run. `facts` are the facts about the load that may leave Flow: names and counts, never a row.

    `key` stays the same when the hook is run again, so that a receiver can recognize a repetition. `patience` is the
    lock timeout of its SQL; 0 means no lock timeout.
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
    """`statement` describes what a hook does. `run` runs the hook and returns a description of the result, or raises
    Failure."""

    kind: str
    statement: Callable[[BaseHook], str]
    run: Callable[[HookCall], str]
