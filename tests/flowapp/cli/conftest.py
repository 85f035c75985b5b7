"""Running `flow` in this process, as a shell would."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from flowapp.cli import main


@dataclass(frozen=True)
class Finished:
    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


Flow = Callable[..., Finished]


@pytest.fixture
def flow(capfd: pytest.CaptureFixture[str]) -> Flow:
    """Return a function that calls `flow(*arguments)` and returns status and both outputs."""

    def call(*arguments: str) -> Finished:
        status = main(arguments)
        out = capfd.readouterr()
        return Finished(status, out.out, out.err)

    return call
