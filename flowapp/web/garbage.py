"""Garbage collection of the web process."""

from __future__ import annotations

import gc


def collect_rarely() -> None:
    """Exclude all objects loaded so far from garbage collection, and collect new ones less often. A full collection
    delays a request by 0.25 s with the loaded objects, and by 0.07 s without them; by default, it runs within every few
    requests. Objects without reference cycles are freed at once in any case."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
