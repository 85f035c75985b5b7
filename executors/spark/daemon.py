"""The process from which Spark forks its Python workers. It imports once what all workers need."""

from __future__ import annotations

import gc
import os
import signal

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import executors.spark.scan
import executors.spark.sink  # noqa: F401

IDLE_SECONDS = 90
"""Longer than Spark caches an idle worker (70 s). Spark stops cached workers through this process, which must run until
then."""


def main() -> None:
    # Workers collect garbage after every task. Without the freeze, the modules imported here would take most of that
    # time.
    gc.freeze()
    if _is_of_one_session():
        _end_when_idle(IDLE_SECONDS)
    manager()


def _is_of_one_session() -> bool:
    """Return whether this process belongs to one session. Spark Connect starts one for every session and does not stop
    it when the session ends."""
    return os.environ.get("SPARK_JOB_ARTIFACT_UUID", "default") != "default"


def _end_when_idle(seconds: int) -> None:
    """Stop this process after so many seconds without a worker. Spark starts another one when it needs it.

    The process stops as it does when Spark closes its input. It checks its input before it accepts a client, so no
    accepted client is left without a worker, and a client that still waits connects again.
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
