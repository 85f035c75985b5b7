"""A process that follows a table, and dies or freezes at a point. Its arguments are JSON on standard input:
`python -m tests.executors.postgres_cdc.killed_follow`."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from executors.change_log import net_effect
from executors.model import Connection
from executors.postgres import load
from executors.postgres_cdc import replication
from executors.sources import postgres_cdc
from tests.executors.postgres_cdc.mirror import Mirror

POINTS = ("slot", "pass", "reading", "reduced", "load", "marker", "committed", "confirm")
"""After the slot is made; before the rows are staged; after some messages; with the files of a window; before the
transaction of the load, before its marker, after its commit; before the slot is confirmed."""


Act = Callable[..., Any]


def end(how: signal.Signals) -> Act:
    """Return a function that ends or freezes this process and those that it has started."""
    return lambda *_: os.killpg(os.getpid(), how)


def before(owner: Any, name: str, act: Act, *, after: bool = False) -> None:
    inner = getattr(owner, name)

    def wrapped(*args: Any, **more: Any) -> Any:
        if not after:
            act()
        result = inner(*args, **more)
        if after:
            act()
        return result

    setattr(owner, name, wrapped)


def arm(point: str, mirror: Mirror, act: Act) -> None:
    if point in ("pass", "load"):
        mirror.memory.on_step = lambda step, node: act() if step == point else None
    elif point == "slot":
        before(replication.ReplicationSession, "create_slot", act, after=True)
    elif point == "reading":
        left = iter(range(20))
        before(net_effect.Changes, "set_row", lambda: next(left, None) is None and act())
    elif point == "reduced":
        before(net_effect.Changes, "reduce", act, after=True)
    elif point == "marker":
        before(load, "write_commit", act)
    elif point == "committed":
        mirror.memory.on_committed = act
    elif point == "confirm":
        before(postgres_cdc.PostgresCdc, "loaded", act)
    else:
        raise ValueError(point)


def main() -> None:
    given = json.load(sys.stdin)
    mirror = Mirror(
        Path(given["folder"]),
        Connection(**given["warehouse"]),
        given["schema"],
        tenant=given["tenant"],
        source=Connection(**given["source"]),
    )
    if given["point"]:
        arm(given["point"], mirror, end(signal.Signals(given["signal"])))
    mirror.run(mirror.pipeline(), run_id=given["run"], attempt=given["attempt"], token=given["token"])


if __name__ == "__main__":
    main()
