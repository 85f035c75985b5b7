"""Add the counts of the chunks' runs up to those of the run of the backfill."""

from __future__ import annotations

from django.db.models import Min, Sum

from flowapp.runs.models import LOADED, NodeRun, RuleCount, Run, RunKind
from flowapp.runs.selectors import COUNTS


def sum_chunk_runs(parent: Run) -> None:
    """Store the sums of the runs of chunks that have loaded as the counts of their parent. Call it in the transaction
    that ends the parent."""
    loaded = parent.children.filter(kind=RunKind.CHUNK, state__in=LOADED)
    sums = {name: Sum(name) for name in (*COUNTS, "duration_ms")}
    nodes = NodeRun.objects.filter(run__in=loaded).values("node", "kind").order_by("node", "kind")
    NodeRun.objects.filter(run=parent).delete()
    NodeRun.objects.bulk_create(
        NodeRun(workspace_id=parent.workspace_id, run=parent, **found)
        for found in nodes.annotate(position=Min("position"), **sums)
    )
    rules = RuleCount.objects.filter(run__in=loaded).values("position", "node", "rule", "type", "field", "on_fail")
    RuleCount.objects.filter(run=parent).delete()
    RuleCount.objects.bulk_create(
        RuleCount(workspace_id=parent.workspace_id, run=parent, **{**found, "position": position})
        for position, found in enumerate(
            rules.order_by("position", "node", "rule").annotate(
                violations=Sum("violations"), evaluated=Sum("evaluated")
            )
        )
    )
    rejected = loaded.aggregate(rows=Sum("quarantine_rows"))["rows"]
    evaluated = loaded.filter(evaluated=True).exists()
    Run.objects.filter(pk=parent.pk).update(quarantine_rows=rejected, evaluated=evaluated)
