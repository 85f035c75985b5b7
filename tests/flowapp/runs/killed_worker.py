"""A worker as a process of its own, with the real engine and Spark: it executes one run and dies at a point after the
commit of the load. A later attempt finds the load committed, so that all it does is after the commit.

    python -m tests.flowapp.runs.killed_worker RUN_ID POINT
"""

from __future__ import annotations

import os
import sys

import django

if __name__ == "__main__":
    django.setup()
    from django.conf import settings

    from flowapp.runs.dispatch import execute_claimed
    from flowapp.runs.leases import claim_run
    from tests.flowapp.runs.kill_points import KillPoints

    claim = claim_run(sys.argv[1], f"process {os.getpid()}")
    assert claim
    points = KillPoints(settings.FILES_ROOT, int(sys.argv[2]), has_committed=claim.attempt > 1)
    with points.observed():
        execute_claimed(claim)
