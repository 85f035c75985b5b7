"""`flow backfill`: the history of a source in chunks; and `flow run PIPELINE --chunk N`."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import COMPLETE, FAILED, REFUSED, UsageError
from flowapp.cli.outcome import Outcome, minute, show_lines, show_table, text_outcome
from flowapp.cli.parser import add_command, add_group, positive
from ir.words import counted, duration_text

if TYPE_CHECKING:
    from flowapp.backfills.services import Actor
    from flowapp.pipelines.models import Pipeline

COLUMNS = {
    "chunk": "CHUNK",
    "predicate": "ROWS OF THE SOURCE",
    "status": "STATUS",
    "attempts": "ATTEMPTS",
    "rows": "LOADED",
    "completed": "COMPLETED",
    "error": "ERROR",
}
STATUS_HELP = (
    "Exit status: 0 chunks are printed; 3 none can run now (all slots are taken, or the backfill is paused); "
    "1 only failed chunks are left; 8 all chunks are loaded."
)


def add_parser(commands: Any) -> None:
    group = add_group(commands, "backfill", "the history of a source, loaded in chunks")
    status = add_command(group, "status", show_status, "show the phase of a pipeline and the progress of its chunks")
    _add_pipeline(status)
    status.add_argument("--chunks", metavar="STATUS", help="list the chunks with this status, or all")
    status.add_argument("--limit", type=positive, default=50, metavar="N", help="how many chunks (default: 50)")
    status.add_argument("--after", type=positive, metavar="CHUNK", help="list those that follow this chunk")
    for name, handler, summary in (
        ("pause", pause, "start no more chunks; those that are running finish"),
        ("resume", resume, "go on with a paused backfill"),
        ("retry", retry, "load failed chunks again"),
    ):
        command = add_command(group, name, handler, summary)
        _add_pipeline(command)
        command.add_argument("--reason", metavar="TEXT", default="", help="the reason; it is stored")
        if handler is retry:
            text = "load the chunks again that were loaded with another version of the pipeline, not the failed ones"
            command.add_argument("--outdated", action="store_true", help=text)
    rewinding = add_command(group, "rewind", rewind, "load a range of the history again, or everything")
    _add_pipeline(rewinding)
    rewinding.add_argument("--from", dest="lower", metavar="VALUE", help="the lowest cursor value of the range")
    rewinding.add_argument(
        "--to",
        dest="upper",
        metavar="VALUE",
        help="where the range ends, not part of it (default: the watermark of the target, or all higher values)",
    )
    rewinding.add_argument("--reason", metavar="TEXT", required=True, help="the reason; it is stored")
    following = add_command(group, "next", next_chunks, "print the chunks that can run now, for `flow run --chunk`")
    following.epilog = STATUS_HELP
    _add_pipeline(following)
    following.add_argument("--limit", type=positive, default=1, metavar="N", help="how many at most (default: 1)")
    _add_chunk_option(commands)


def _add_pipeline(command: Any) -> None:
    command.add_argument("pipeline", metavar="PIPELINE")
    command.set_defaults(joins_broker=True)


def _add_chunk_option(commands: Any) -> None:
    """Add `--chunk` to `flow run`, whose app does not know chunks."""
    run = commands.choices["run"]
    run.add_argument("--chunk", type=positive, metavar="N", help="run one chunk of the pipeline's backfill here")
    run.set_defaults(handler=run_pipeline_or_chunk)


def show_status(args: Namespace) -> Outcome:
    from flowapp.backfills.progress import get_progress, status_document

    pipeline = _pipeline(args)
    document = status_document(get_progress(pipeline))
    if args.chunks is not None:
        found = _list_chunks(pipeline, args)
        document["list"] = found[: args.limit]
        document["next"] = found[args.limit - 1]["chunk"] if len(found) > args.limit else None
    return Outcome(document, lambda console: _show_status(console, document))


def _list_chunks(pipeline: Pipeline, args: Namespace) -> list[dict[str, Any]]:
    """List the chunks, and one more than the limit if there are more."""
    from flowapp.backfills.models import ChunkStatus
    from flowapp.backfills.selectors import list_chunks
    from flowapp.backfills.serializers import ChunkSerializer

    if args.chunks not in ("all", *ChunkStatus.values):
        known = ", ".join(("all", *ChunkStatus.values))
        raise UsageError(f"--chunks must be one of {known}", command="flow backfill status")
    found = list_chunks(pipeline, status=None if args.chunks == "all" else args.chunks)
    if args.after is not None:
        found = found.filter(ordinal__gt=args.after)
    return [ChunkSerializer(chunk).data for chunk in found[: args.limit + 1]]


def _show_status(console: Console, document: dict[str, Any]) -> None:
    if document["phase"] is None:
        show_lines(console, [f"{document['pipeline_id']} has no backfill: its first run loads everything."])
        return
    chunks, speed = document["chunks"], document["throughput"]
    name, error = document["pipeline_id"], document["error"]
    if document["phase"] == "planning" and document["run"] is None:
        show_lines(console, [f"The backfill of {name} has not begun: the first run plans its chunks."])
        return
    paused = " (paused)" if document["paused"] else " (stopped)" if error else ""
    show_lines(console, [f"{name} is {document['phase']}{paused}."])
    if error and not document["paused"]:
        show_lines(console, [f"{error['message']} [{error['code']}]", *([error["hint"]] if error["hint"] else [])])
    words = ", ".join(f"{chunks[one]:,} {one}" for one in ("done", "running", "pending", "failed"))
    show_lines(console, [f"Chunks: {words}, of {chunks['total']:,}."])
    if outdated := chunks["outdated"]:
        words = counted(outdated, "loaded chunk")
        how = f"flow backfill retry {name} --outdated --reason TEXT"
        show_lines(console, [f"{words} of an earlier version of the pipeline. To load them again: {how}"])
    if speed["rows_per_sec"] is not None:
        show_lines(console, [f"Speed: {speed['rows_per_sec']:,.0f} rows/s."])
    if document["eta_seconds"] is not None:
        show_lines(console, [f"Time left at this speed: {duration_text(document['eta_seconds'])}."])
    if document["rate_budget"]:
        used = document["rate_budget_consumed_pct"]
        show_lines(
            console, [f"Requests: at most {document['rate_budget']}{f', {used} % used' if used is not None else ''}."]
        )
    if document.get("list"):
        rows = [{**row, "completed": minute(row["completedAt"])} for row in document["list"]]
        show_table(console, COLUMNS, rows)
    if document.get("next"):
        show_lines(console, [f"There are more: --after {document['next']}"])


def pause(args: Namespace) -> Outcome:
    from flowapp.backfills.services import pause

    pause(_pipeline(args), _actor(), args.reason)
    return _done(args, "is paused. Chunks that are running finish.")


def resume(args: Namespace) -> Outcome:
    from flowapp.backfills.services import resume

    resume(_pipeline(args), _actor(), args.reason)
    return _done(args, "goes on.")


def retry(args: Namespace) -> Outcome:
    from flowapp.backfills.services import load_outdated_again, retry_failed

    if args.outdated:
        load_outdated_again(_pipeline(args), _actor(), args.reason)
        return _done(args, "loads the chunks of earlier versions again.")
    retry_failed(_pipeline(args), _actor(), args.reason)
    return _done(args, "loads its failed chunks again.")


def rewind(args: Namespace) -> Outcome:
    from flowapp.backfills.services import rewind

    rewind(_pipeline(args), args.lower, args.upper, _actor(), args.reason)
    return _done(args, "plans the chunks of the range." if args.lower or args.upper else "is planned again.")


def _done(args: Namespace, words: str) -> Outcome:
    from flowapp.backfills.progress import get_progress, status_document
    from flowapp.runs.attended import has_live_worker

    lines = [f"The backfill of {args.pipeline} {words}"]
    if not has_live_worker():
        lines.append(f"No worker is running: `flow run {args.pipeline}` loads the chunks in its own process.")
    return text_outcome(status_document(get_progress(_pipeline(args))), *lines)


def next_chunks(args: Namespace) -> Outcome:
    from flowapp.backfills.hosting import Situation, next_chunks
    from flowapp.backfills.serializers import ChunkSerializer

    found = next_chunks(_pipeline(args), args.limit)
    chunks = [ChunkSerializer(chunk).data for chunk in found.chunks]
    document = {"pipeline": args.pipeline, "situation": found.situation, "left": found.left, "chunks": chunks}
    lines = {
        Situation.CHUNKS: [f"{chunk['chunk']}" for chunk in chunks],
        Situation.WAIT: [f"No chunk can run now; {counted(found.left, 'chunk')} not loaded yet."],
        Situation.FAILED: [
            f"{counted(found.left, 'chunk')} failed. Correct the cause, then: flow backfill retry {args.pipeline}"
        ],
        Situation.COMPLETE: ["All chunks are loaded."],
    }
    statuses = {Situation.CHUNKS: 0, Situation.WAIT: REFUSED, Situation.FAILED: FAILED, Situation.COMPLETE: COMPLETE}
    return replace(text_outcome(document, *lines[found.situation]), status=statuses[found.situation])


def run_pipeline_or_chunk(args: Namespace) -> Outcome:
    from flowapp.backfills.hosting import run_chunk
    from flowapp.runs.cli.progress import shown_run
    from flowapp.runs.cli.run import ended, run_pipeline

    if args.chunk is None:
        return run_pipeline(args)
    if args.detach or args.preview or args.load_again:
        raise UsageError("--chunk cannot be combined with --detach, --preview or --load-again", command="flow run")
    with shown_run(f"{args.pipeline} chunk {args.chunk}") as shown:
        run = run_chunk(_pipeline(args), args.chunk, shown.engine)
    if run is None:
        return text_outcome({"pipeline": args.pipeline, "chunk": args.chunk}, f"Chunk {args.chunk} is loaded already.")
    return ended(run)


def _pipeline(args: Namespace) -> Pipeline:
    from flowapp.pipelines.selectors import get_pipeline

    return get_pipeline(current_workspace(), args.pipeline)


def _actor() -> Actor:
    from flowapp.backfills.services import Actor
    from flowapp.runs.attended import has_live_worker
    from flowapp.runs.models import Trigger

    return Actor("command line", Trigger.CLI, sends=has_live_worker())
