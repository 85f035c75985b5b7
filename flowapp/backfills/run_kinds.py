"""The kinds of runs of a backfill: the one that plans and is then parked, and its children."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from executors.api import Ports, WriteBudget
from executors.api import run as run_attempt
from executors.model import BackfillMark, ChunkJob, ChunkRange, LoadedChunk, RunJob
from executors.report import RunReport
from flowapp.backfills.models import COMPLETE, Backfill, Chunk
from flowapp.backfills.phases import Phase
from flowapp.backfills.plans import park_with_plan, store_bytes, store_changes
from flowapp.backfills.rates import SharedRate
from flowapp.pipelines.documents import read_document
from flowapp.runs.models import Run, RunKind
from flowapp.runs.run_kinds import RunKindSpec
from flowapp.web.htmx import HtmxRequest


def plan_once(job: RunJob, ports: Ports) -> RunReport:
    """Plan the chunks, unless an earlier run of the backfill has planned them."""
    if Backfill.objects.filter(run=UUID(job.run_id), phase=Phase.PLANNING).exists():
        return run_attempt("plan", job, ports)
    return RunReport()


def _add_range(run: Run, job: RunJob) -> RunJob:
    backfill = Backfill.objects.get(run=run)
    return replace(job, chunk_range=ChunkRange(backfill.lower, backfill.upper)) if backfill.is_rewind else job


def _add_chunk(run: Run, job: RunJob) -> RunJob:
    chunk = Chunk.objects.select_related("backfill").get(run=run)
    one = ChunkJob(chunk.planned, chunk.key, chunk.backfill.type, replaces=chunk.backfill.is_rewind or chunk.again)
    return replace(job, chunk=one)


def _chunk_key(run: Run) -> str:
    return Chunk.objects.select_related("backfill").get(run=run).key


def _add_mark(run: Run, job: RunJob) -> RunJob:
    backfill = Backfill.objects.get(finished_by=run)
    done = backfill.chunks.filter(status__in=COMPLETE).select_related("backfill").order_by("ordinal")
    loaded = tuple(LoadedChunk(chunk.planned, chunk.rows_read or 0, _text(chunk.run_id)) for chunk in done)
    mark = None if backfill.is_rewind else backfill.mark
    return replace(job, backfill_mark=BackfillMark(backfill.column, backfill.type, backfill.cut, mark, loaded))


def _text(key: UUID | None) -> str | None:
    return None if key is None else str(key)


def _limit_requests(run: Run, ports: Ports) -> Ports:
    backfill = read_document(run.document).backfill
    rate = backfill.rate if backfill is not None else None
    if rate is None:
        return ports
    return replace(ports, rate=SharedRate(str(run.pipeline_id), rate, ports.cancellation))


def _limit_chunk(run: Run, ports: Ports) -> Ports:
    """Add the limits of a chunk: all chunks that may run at once share the rows per second equally."""
    ports, backfill = _limit_requests(run, ports), read_document(run.document).backfill
    rows = backfill.destination_writes_per_sec if backfill is not None else None
    if rows is None:
        return ports
    parallelism = Chunk.objects.values_list("backfill__parallelism", flat=True).get(run=run)
    return replace(ports, writes=WriteBudget(rows / parallelism))


def _page_context(request: HtmxRequest, run: Run) -> dict[str, Any]:
    backfill = Backfill.objects.filter(run=run).first()
    chunk = Chunk.objects.select_related("backfill").filter(run=run).first()
    ended = Backfill.objects.filter(finished_by=run).first()
    return {"backfill": backfill or ended or (chunk.backfill if chunk else None), "chunk": chunk}


BACKFILL = RunKindSpec(
    RunKind.BACKFILL,
    "runs/detail.html",
    "runs/_live.html",
    loads=True,
    tag="backfill",
    engine_name="plan",
    own_engine=plan_once,
    add_to_job=_add_range,
    add_to_ports=_limit_requests,
    after_success=park_with_plan,
    page_context=_page_context,
)
CHUNK = RunKindSpec(
    RunKind.CHUNK,
    "runs/detail.html",
    "runs/_live.html",
    tag="chunk",
    again="Run the pipeline",
    chunk_key=_chunk_key,
    add_to_job=_add_chunk,
    add_to_ports=_limit_chunk,
    after_success=store_bytes,
    page_context=_page_context,
    yields=True,
)
FINISH_BACKFILL = RunKindSpec(
    RunKind.FINISH_BACKFILL,
    "runs/detail.html",
    "runs/_live.html",
    tag="end of backfill",
    again="Run the pipeline",
    add_to_job=_add_mark,
    after_success=store_changes,
    page_context=_page_context,
)
