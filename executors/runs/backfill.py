"""The runs of a backfill: one plans its chunks, each chunk is a load of its own, and the last one ends the backfill."""

from __future__ import annotations

from typing import Any

from executors.errors import Terminal
from executors.model import RunJob
from executors.ports import Ports
from executors.report import RunReport
from executors.runs.load import LOAD_RUN, run_pipeline
from executors.runs.names import COUNT, FINISH, LOAD, PLAN, START
from executors.runs.step import Step

PLAN_STEPS: tuple[Step[Any], ...] = (START, PLAN)
CHUNK_STEPS = LOAD_RUN.steps
FINISH_STEPS: tuple[Step[Any], ...] = (START, COUNT, LOAD, FINISH)


def plan_backfill(job: RunJob, ports: Ports) -> RunReport:
    """Plan the chunks of a backfill, in `plan` of the report. Nothing is loaded."""
    raise _not_yet()


def load_chunk(job: RunJob, ports: Ports) -> RunReport:
    """Load the chunk of the job."""
    return run_pipeline(job, ports)


def finish_backfill(job: RunJob, ports: Ports) -> RunReport:
    """Compare the chunks with the source, and let the target continue at the mark of the job."""
    raise _not_yet()


def _not_yet() -> Terminal:
    return Terminal("destination.not_supported", "This destination does not support backfills.")
