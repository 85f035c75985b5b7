"""The process that Spark forks its Python workers from: it imports once what every one of them needs."""

from __future__ import annotations

import gc
import os
import signal

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import executors.spark.scan
import executors.spark.sink  # noqa: F401

IDLE_SECONDS = 90
"""Longer than Spark keeps an idle worker (70 s): had it died, Spark would ask this process to kill it, or fail."""


def main() -> None:
    # Workers collect garbage after every task; what was imported here would take them most of a task's time.
    gc.freeze()
    if _is_of_one_session():
        _end_when_idle(IDLE_SECONDS)
    manager()


def _is_of_one_session() -> bool:
    """Spark Connect starts one like this for every session, and keeps it when the session has ended."""
    return os.environ.get("SPARK_JOB_ARTIFACT_UUID", "default") != "default"


def _end_when_idle(seconds: int) -> None:
    """Have this process end when it had no worker for so long. Spark starts another if need be.

    It ends as it does when Spark closes its input, for it looks there before it lets a client in: no client is let in
    and then left without a worker, and one that still waits outside tries again.
    """
    from_spark, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    had_workers = True

    def look(signal_number: int, frame: object) -> None:
        nonlocal had_workers
        have_workers = _has_workers()
        if have_workers or had_workers:
            had_workers = have_workers
            signal.alarm(seconds)
        else:
            os.dup2(nothing, 0)

    def stay() -> None:
        nonlocal had_workers
        had_workers = True
        os.dup2(from_spark, 0)
        signal.alarm(seconds)

    signal.signal(signal.SIGALRM, look)
    os.register_at_fork(after_in_parent=stay)
    signal.alarm(seconds)


def _has_workers() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return False


if __name__ == "__main__":
    main()
