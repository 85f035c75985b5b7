"""The memory of this process and its children that belong to the product, sampled from /proc."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

SERVERS = ("weed", "postgres")
"""Programs that are no part of the product."""


class PeakMemory:
    """Set `peak` to the largest size in bytes of the process tree while the block runs (proportional set size), and
    `peaks` to that of each part: the `driver`, which is this process, the `JVM`, and the `workers` of Spark in Python.
    `cpu` is the processor time that this has cost."""

    def __init__(self) -> None:
        self.peak, self.cpu = 0, 0.0
        self.peaks = dict.fromkeys(("driver", "JVM", "workers"), 0)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            sizes = dict.fromkeys(self.peaks, 0)
            for process in process_tree(os.getpid()):
                sizes[part_of(process)] += _proportional_size(process)
            self.peak = max(self.peak, sum(sizes.values()))
            self.peaks = {part: max(self.peaks[part], size) for part, size in sizes.items()}
            self.cpu = time.thread_time()


def process_name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def part_of(process: int) -> str:
    if process == os.getpid():
        return "driver"
    return "JVM" if process_name(process) == "java" else "workers"


def process_tree(root: int, *, servers: bool = False) -> list[int]:
    """Return the processes of the product, and the `servers` that it has started if they are wanted."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        if process_name(process := waiting.pop()) not in SERVERS or servers:
            found.append(process)
            waiting += children.get(process, [])
    return found


def _proportional_size(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)
