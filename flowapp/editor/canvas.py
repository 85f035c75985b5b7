"""Data of the canvas besides the draft: the kinds of nodes that users can add, and the row counts of the last run."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.skeletons import describe_kinds
from flowapp.runs.models import ENDED, LOADS, NodeRun, Run
from flowapp.web.templatetags.flow import STATES

COUNTS = {"in": "rows_in", "out": "rows_out", "rejected": "rows_rejected_here", "loaded": "rows_loaded"}


def canvas_data(pipeline: Pipeline, connection: str) -> dict[str, Any]:
    """Return the data as JSON. `connection` is the connection of new targets, "" if there is none."""
    return {"pipeline": pipeline.slug, "kinds": describe_kinds(connection, pipeline.slug), "run": _last_run(pipeline)}


def _last_run(pipeline: Pipeline) -> dict[str, Any] | None:
    """Return the newest finished load with the counts of its nodes; None if there is none or it counted no rows."""
    runs = Run.objects.filter(pipeline=pipeline, kind__in=LOADS, state__in=ENDED).order_by("-queued_at", "id")
    run = runs.select_related("pipeline__workspace").defer("version__document").first()
    counts = _counts(run) if run else {}
    if run is None or not counts:
        return None
    url = reverse("runs:detail", args=[run.pipeline.workspace.slug, run.pk])
    return {"number": run.number, "state": STATES[run.state][2], "url": url, "nodes": counts}


def _counts(run: Run) -> dict[str, dict[str, int | None]]:
    rows = NodeRun.objects.filter(run=run).values("node", *COUNTS.values())
    return {row["node"]: {name: row[column] for name, column in COUNTS.items()} for row in rows}
