"""The verdicts on one batch, node by node along its path."""

from __future__ import annotations

import pyarrow as pa

from executors.verdicts.plan import Judged, JudgePlan


def judge(batch: pa.RecordBatch, plan: JudgePlan) -> Judged:
    """Tell the rows of a batch that may be staged from those that may not. Never raises for data."""
    raise NotImplementedError
