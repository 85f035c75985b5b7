"""A process that follows a table and dies at a point, for every source that follows a log.

The module `killed_follow` of a source is that process: it calls `follow` with its own points.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from executors.change_log import net_effect
from executors.model import Connection
from executors.postgres import load

FIRST_LOAD = ("pass", "load", "marker", "committed")
WINDOW = ("pass", "reading", "reduced", "load", "marker", "committed")
"""Before the rows are staged; after some messages; with the files of a window; before the transaction of the load,
before its marker, after its commit."""


# --- in the process that dies -------------------------------------------------------------------------------------


def die(*_: Any) -> Any:
    os.killpg(os.getpid(), signal.SIGKILL)


def before(owner: Any, name: str, act: Callable[..., Any] = die, *, after: bool = False) -> None:
    inner = getattr(owner, name)

    def wrapped(*args: Any, **more: Any) -> Any:
        if not after:
            act()
        result = inner(*args, **more)
        if after:
            act()
        return result

    setattr(owner, name, wrapped)


def after_calls(owner: Any, name: str, calls: int) -> None:
    """Die at the call after so many."""
    left = iter(range(calls))
    before(owner, name, lambda: next(left, None) is None and die())


def _arm(point: str, mirror: Any, own: Mapping[str, Callable[[], None]]) -> None:
    if point in own:
        own[point]()
    elif point in ("pass", "load"):
        mirror.memory.on_step = lambda step, node: die() if step == point else None
    elif point == "reading":
        after_calls(net_effect.Changes, "set_row", 20)
    elif point == "reduced":
        before(net_effect.Changes, "reduce", after=True)
    elif point == "marker":
        before(load, "write_commit")
    elif point == "committed":
        mirror.memory.on_committed = die
    else:
        raise ValueError(point)


def follow(mirror_class: Any, connection_class: Any, own: Mapping[str, Callable[[], None]]) -> None:
    """Run once, as the arguments on standard input say (JSON)."""
    given = json.load(sys.stdin)
    mirror = mirror_class(
        Path(given["folder"]),
        Connection(**given["warehouse"]),
        given["schema"],
        tenant=given["tenant"],
        source=connection_class(**given["source"]),
    )
    if given["point"]:
        _arm(given["point"], mirror, own)
    mirror.run(mirror.pipeline(), run_id=given["run"], attempt=1, token=given["token"])


# --- in the test --------------------------------------------------------------------------------------------------


@dataclass
class Killed:
    """Kills workers that follow a table. `module` is the process, `change` changes rows of the source; it is called
    with another number each time. `difference` are the rows that only the source or only the target has."""

    module: str
    mirror: Any
    change: Callable[[int], None]
    difference: Callable[[], list[Any]]

    def at(self, point: str) -> None:
        """Kill a worker at a point, change rows, and run its second attempt and more runs to the end of the log."""
        run, token = str(uuid.uuid4()), next(self.mirror.tokens)
        process = self._start(point, run, token)
        try:
            _, errors = process.communicate(timeout=900)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL, errors[-2000:]
        self.change(token)
        self.mirror.run(self.mirror.pipeline(), run_id=run, attempt=2)
        self.catch_up()
        assert self.difference() == []

    def while_others_write(self) -> None:
        """Kill workers at any time, while rows change."""
        ends = threading.Event()

        def write() -> None:
            for seed in range(1000):
                if ends.is_set():
                    return
                self.change(seed)
                time.sleep(0.05)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(4):
                token = next(self.mirror.tokens)
                process = self._start("", str(uuid.uuid4()), token)
                time.sleep(random.Random(token).uniform(4, 12))
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                self.mirror.run_once()
        finally:
            ends.set()
            writer.join()
        self.catch_up()
        assert self.difference() == []

    def catch_up(self) -> None:
        while not self.mirror.run_once().nothing_new:
            pass

    def _start(self, point: str, run: str, token: int) -> subprocess.Popen[str]:
        mirror = self.mirror
        given = {
            "folder": str(mirror.folder), "warehouse": asdict(mirror.warehouse), "source": asdict(mirror.source),
            "schema": mirror.schema, "tenant": mirror.tenant, "point": point, "run": run, "token": token,
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        assert process.stdin is not None
        process.stdin.write(json.dumps(given))
        process.stdin.close()
        process.stdin = None
        return process
