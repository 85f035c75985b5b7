"""The seconds and the processor time of each step of a run: of the driver, of Spark's processes, and of servers."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from pathlib import Path

from tests.bench.memory import SERVERS, part_of, process_name, process_tree

_TICKS = os.sysconf("SC_CLK_TCK")


class StepCosts:
    """Adds up the costs of steps, each from its call of `step` to the next one. `print_all` ends the last step."""

    def __init__(self) -> None:
        self._costs: dict[str, defaultdict[str, float]] = {}
        self._name, self._began, self._before = "", time.perf_counter(), _cpu_of_parts()

    def step(self, name: str, node: str | None = None) -> None:
        now, cpu = time.perf_counter(), _cpu_of_parts()
        if self._name:
            costs = self._costs.setdefault(self._name, defaultdict(float))
            costs["wall"] += now - self._began
            for part, seconds in cpu.items():
                costs[part] += max(0.0, seconds - self._before[part])
        self._name, self._began, self._before = name, now, cpu

    def print_all(self, changes: int) -> None:
        """Print the costs of each step, and the time of all of them for one change."""
        self.step("")
        parts = ("wall", "driver", "JVM", "workers", "servers")
        print(f"  {'step':<14}" + "".join(f"{part:>10}" for part in parts) + "   (seconds; of parts: CPU)", flush=True)
        for name, costs in self._costs.items():
            print(f"  {name:<14}" + "".join(f"{costs[part]:>10.2f}" for part in parts), flush=True)
        sums = {part: sum(costs[part] for costs in self._costs.values()) for part in parts}
        each = "".join(f"{1e6 * sums[part] / changes:>10.1f}" for part in parts)
        print(f"  {'µs per change':<14}{each}", flush=True)


def _cpu_of_parts() -> defaultdict[str, float]:
    """Return the processor time so far, with that of processes that have ended."""
    found: defaultdict[str, float] = defaultdict(float)
    for process in process_tree(os.getpid(), servers=True):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        part = "servers" if process_name(process) in SERVERS else part_of(process)
        ticks = sum(map(int, fields[11:13] if part == "driver" else fields[11:15]))
        found[part] += ticks / _TICKS
    return found
