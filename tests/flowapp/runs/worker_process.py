"""A worker as a process of its own: claims one run, executes it by the engine without Spark, and may not survive it.

Usage: worker_process.py RUN_ID STEP SIGNAL, where SIGNAL hits this very process when STEP is reached.
"""

from __future__ import annotations

import os
import signal
import sys

import django


def main(run_id: str, step: str, name: str) -> None:
    django.setup()
    from table_engine import TableEngine

    from flowapp.runs.dispatch import execute_claimed
    from flowapp.runs.leases import claim_run

    claim = claim_run(run_id, f"process {os.getpid()}")
    assert claim
    number = signal.Signals[name]
    execute_claimed(claim, TableEngine(at={step: lambda job, ports: os.kill(os.getpid(), number)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
