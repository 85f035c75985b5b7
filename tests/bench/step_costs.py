"""The seconds and the processor time of each step of a run: of the driver, of Spark's processes, and of servers."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from tests.bench.memory import SERVERS, part_of, process_name, process_tree

_TICKS = os.sysconf("SC_CLK_TCK")
_PARTS = ("driver", "JVM", "workers", "servers")
_WAITED = "waited"


class StepCosts:
    """Adds up the costs of steps, each from its call of `step` to the next one. `print_all` ends the last step.

    `measuring` returns the processor time of the driver that belongs to measurements.
    """

    def __init__(self, measuring: Callable[[], float] = lambda: 0.0) -> None:
        self._measuring = measuring
        self._costs: dict[str, defaultdict[str, float]] = {}
        self._name, self._began, self._before = "", time.perf_counter(), self._now()

    def step(self, name: str, node: str | None = None) -> None:
        now, cpu = time.perf_counter(), self._now()
        if self._name:
            costs = self._costs.setdefault(self._name, defaultdict(float))
            costs["wall"] += now - self._began
            for part, seconds in cpu.items():
                # Each thread has an entry of its own, because some end within the step.
                costs[part if part in _PARTS else _WAITED] += max(0.0, seconds - self._before[part])
        self._name, self._began, self._before = name, now, cpu

    def print_all(self, changes: int) -> None:
        """Print the costs of each step, and those of all of them for one change. `alone` is about the time that the
        step would take without other programs: its seconds without those in which its processes waited for a
        processor, but at least the largest processor time of a part."""
        self.step("")
        parts = ("wall", "alone", *_PARTS)
        print(f"  {'step':<14}" + "".join(f"{part:>10}" for part in parts) + "   (seconds; of parts: CPU)", flush=True)
        for name, costs in self._costs.items():
            costs["alone"] = max(costs["wall"] - costs[_WAITED], *(costs[part] for part in _PARTS))
            print(f"  {name:<14}" + "".join(f"{costs[part]:>10.2f}" for part in parts), flush=True)
        sums = {part: sum(costs[part] for costs in self._costs.values()) for part in parts}
        each = "".join(f"{1e6 * sums[part] / changes:>10.1f}" for part in parts)
        all_parts = 1e6 * sum(sums[part] for part in _PARTS) / changes
        print(f"  {'µs per change':<14}{each}   {all_parts:.1f} of CPU in all", flush=True)

    def _now(self) -> defaultdict[str, float]:
        """Return the processor time of parts so far, with that of processes that have ended, and by its number the time
        for which each thread has waited for a processor."""
        found: defaultdict[str, float] = defaultdict(float)
        for process in process_tree(os.getpid(), servers=True):
            folder = Path(f"/proc/{process}")
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                for task in (folder / "task").iterdir():
                    found[task.name] = int((task / "schedstat").read_text().split()[1]) / 1e9
            except OSError:
                continue
            part = "servers" if process_name(process) in SERVERS else part_of(process)
            ticks = sum(map(int, fields[11:13] if part == "driver" else fields[11:15]))
            found[part] += ticks / _TICKS
        found["driver"] -= self._measuring()
        return found
