"""Add the counts and the warnings of the chunks' runs up to those of the run of the backfill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from django.db.models import F, Min, Sum

from executors.report import RunWarning
from flowapp.runs.models import LOADED, NodeRun, RuleCount, Run, RunKind, State
from flowapp.runs.selectors import COUNTS
from ir.words import counted

MOST_WARNINGS = 5


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
    report = replace(parent.stored_report, warnings=(*_warnings_of_plan(parent), *_warnings_of_chunks(parent)))
    changes = {"quarantine_rows": rejected, "evaluated": evaluated, "report": report.to_json()}
    Run.objects.filter(pk=parent.pk).update(**changes)


def has_warnings(parent: Run) -> bool:
    """Return whether the plan or the children of a run have reported a warning, after their sums are stored."""
    return bool(Run.objects.get(pk=parent.pk).stored_report.warnings)


def _warnings_of_plan(parent: Run) -> Iterator[RunWarning]:
    """Yield the warnings of the run itself, and not those of chunks that an earlier sum has added."""
    return (warning for warning in parent.stored_report.warnings if warning.code == "backfill.range_cut")


def _warnings_of_chunks(parent: Run) -> Iterator[RunWarning]:
    """Yield the warnings of children, each with its chunk: the first of each kind, and how many there are besides."""
    seen = Counter[tuple[str, str | None]]()
    last: dict[tuple[str, str | None], RunWarning] = {}
    children = parent.children.filter(state=State.SUCCEEDED_WITH_WARNINGS).order_by("chunks__ordinal", "number")
    for run in children.annotate(ordinal=F("chunks__ordinal")).iterator():
        for warning in run.stored_report.warnings:
            key = warning.code, warning.node
            seen[key] += 1
            last[key] = warning
            if seen[key] <= MOST_WARNINGS:
                where = f"Chunk {run.ordinal}: " if run.kind == RunKind.CHUNK else ""
                yield replace(warning, message=f"{where}{warning.message}")
    for key, number in seen.items():
        if number > MOST_WARNINGS:
            text = f"{counted(number - MOST_WARNINGS, 'further chunk')} with this warning; see their runs."
            yield replace(last[key], message=text)
