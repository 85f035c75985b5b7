"""One attempt at a run in a process of its own, which stops at a step and waits there for what happens to it.

Usage: python -m tests.executors.faults.faulty_run SPEC, a JSON object with `folder`, `connection`, `schema`, `tenant`,
`token`, `run_id`, `document` and `step`. Prints `at STEP` when it is there and goes on at a line of input; then prints
`ended well` or `ended CODE`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from executors.errors import Failure
from executors.model import Connection
from tests.executors.conformance.world import Memory, World

AFTER_COMMIT = "after commit"


def main(text: str) -> None:
    spec = json.loads(text)

    def wait_at(step: str) -> None:
        if step == spec["step"]:
            print(f"at {step}", flush=True)
            sys.stdin.readline()

    memory = Memory(
        on_step=lambda name, node: wait_at(name),
        on_committed=lambda commit: wait_at(AFTER_COMMIT),
    )
    world = World(Path(spec["folder"]), Connection(**spec["connection"]), spec["schema"], memory, spec["tenant"])
    try:
        world.run(spec["document"], run_id=spec["run_id"], token=spec["token"])
    except Failure as failure:
        print(f"ended {failure.code}", flush=True)
    else:
        print("ended well", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
