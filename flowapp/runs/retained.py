"""The retention of runs and their counts.

Runs that loaded something, commits and files are not deleted, because they document what was loaded, and because a
request to load a file again, a failure that blocks later files and an undone file must not be forgotten. The table of a
target has the records that prevent the same bytes from being loaded twice."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.db.models import Q

from executors.target_database import RESULTS_RETENTION_DAYS, SAMPLES_RETENTION_DAYS
from flowapp.processes.retention import Retention
from flowapp.runs.load_units.models import LoadUnit, UnitRun, UnitState
from flowapp.runs.models import COUNTED, EffectSample, Run, RunLog
from ir.words import counted

SAMPLE_HOURS = 1
"""The number of hours for which the row values of a preview are stored."""
UNLOADED = (UnitState.PENDING, UnitState.FAILED, UnitState.SKIPPED)
"""Results of a run for a file after which the tables do not have its rows. A failing file gets one with every run."""
SAMPLES = Retention("Row values shown by previews", EffectSample, "at", SAMPLE_HOURS / 24)
"""Deleted more often than all other records, because they contain row values."""
RETENTION = (
    Retention("Skipped files", LoadUnit, "changed_at", 90, Q(state=UnitState.SKIPPED)),
    Retention("Runs that tried to load a file and did not", UnitRun, "at", 90, Q(state__in=UNLOADED)),
    Retention("Log lines of runs", RunLog, "at", 30),
    Retention("Previews and their counts", Run, "ended_at", 7, ~Q(kind__in=COUNTED) & Q(parent=None)),
)
DESCRIBED: tuple[tuple[str, Callable[[], str]], ...] = (
    ("Runs that loaded rows, with numbers, versions and files", lambda: "forever"),
    ("Samples of loaded rows, in the target's database", lambda: counted(SAMPLES_RETENTION_DAYS, "day")),
    ("Results of replays per row, in the target's database", lambda: counted(RESULTS_RETENTION_DAYS, "day")),
    ("Held loads without a decision", lambda: f"{settings.HOLD_HOURS:g} hours"),
    (SAMPLES.what, lambda: counted(SAMPLE_HOURS, "hour")),
)
