"""Execute runs over rejected rows in this process, without a worker."""

from __future__ import annotations

from collections.abc import Sequence

from flowapp.runs.dispatch import finish_abandoned, run_to_end
from flowapp.runs.models import Run, RunKind
from flowapp.runs.run_kinds import Engine


def rows_inline(runs: Sequence[Run], engine: Engine | None = None) -> list[Run]:
    """Execute runs over rejected rows of one kind, after the runs in progress."""
    if runs:
        finish_abandoned(runs[0].pipeline, RunKind(runs[0].kind), engine)
    return [run_to_end(run, engine) for run in runs]
