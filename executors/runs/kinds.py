"""The kinds of runs: the function that executes each kind, and its steps for display."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from executors.model import RunJob
from executors.ports import Ports
from executors.report import RunReport
from executors.runs.backfill import FINISH_RUN, PLAN_RUN, finish_backfill, load_chunk, plan_backfill
from executors.runs.fix import FIX_RUN, fix_rows
from executors.runs.load import LOAD_RUN, run_pipeline
from executors.runs.preview import PREVIEW_RUN, preview_pipeline
from executors.runs.recheck import RECHECK_RUN, recheck_rows
from executors.runs.replay import REPLAY_RUN, replay_rows
from executors.runs.restore import RESTORE_RUN, restore_pipeline
from executors.runs.sample import SAMPLE_RUN, sample_pipeline
from executors.runs.step import Step
from executors.runs.stream import run_stream
from executors.runs.undo import UNDO_RUN, undo_file

STEPS: Mapping[str, tuple[Step[Any], ...]] = {
    "load": LOAD_RUN.steps,
    "preview": PREVIEW_RUN.steps,
    "restore": RESTORE_RUN,
    "undo": UNDO_RUN,
    "replay": REPLAY_RUN.steps,
    "recheck": RECHECK_RUN.steps,
    "fix": FIX_RUN.steps,
    "sample": SAMPLE_RUN.steps,
    "plan": PLAN_RUN.steps,
    "chunk": LOAD_RUN.steps,
    "finish_backfill": FINISH_RUN.steps,
    "stream": LOAD_RUN.steps,
}
"""The steps of each kind, in order. A repeated step is listed again."""

RUNS: Mapping[str, Callable[[RunJob, Ports], RunReport]] = {
    "load": run_pipeline,
    "preview": preview_pipeline,
    "restore": restore_pipeline,
    "undo": undo_file,
    "replay": replay_rows,
    "recheck": recheck_rows,
    "fix": fix_rows,
    "sample": sample_pipeline,
    "plan": plan_backfill,
    "chunk": load_chunk,
    "finish_backfill": finish_backfill,
    "stream": run_stream,
}
"""The function of each kind. It runs one attempt and returns its report, or raises the `Failure` that ended it."""
