"""A message as channel kinds receive it. It imports no models, so that kinds can be imported without Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ir.words import counted


@dataclass(frozen=True, slots=True)
class Message:
    """One event for one channel: `document` for programs; `headline` and `lines` for people."""

    workspace: str
    channel: str
    is_error: bool
    headline: str
    lines: tuple[str, ...]
    document: dict[str, Any]


def subject_of(messages: Sequence[Message]) -> str:
    first = messages[0]
    if len(messages) == 1:
        return f"[Flow {first.workspace}] {first.headline}"
    errors = sum(message.is_error for message in messages)
    worst = f", {counted(errors, 'error')}" if errors else ""
    return f"[Flow {first.workspace}] {counted(len(messages), 'message')}{worst}"
