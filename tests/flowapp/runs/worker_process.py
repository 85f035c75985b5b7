"""A worker as a process of its own: claims one run, executes it by the engine without Spark, and may not survive it.

The module is imported once, by the server that forks these processes: importing takes seconds.
"""

from __future__ import annotations

import os
import signal

import django
from django.apps import apps

if not apps.ready:
    django.setup()

from flowapp.runs.dispatch import execute_claimed
from flowapp.runs.leases import claim_run
from tests.flowapp.runs.table_engine import TableEngine


def work(run_id: str, step: str, number: signal.Signals) -> None:
    """The signal hits this very process when the step is reached."""
    claim = claim_run(run_id, f"process {os.getpid()}")
    assert claim
    execute_claimed(claim, TableEngine(at={step: lambda job, ports: os.kill(os.getpid(), number)}))
