"""`flow trace`: where a row went."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import FAILED, UsageError
from flowapp.cli.outcome import Outcome, text_outcome
from flowapp.cli.parser import add_command


def add_parser(commands: Any) -> None:
    trace = add_command(commands, "trace", trace_row, "find out what happened to a row, by the values of its key")
    trace.add_argument("pipeline", metavar="PIPELINE")
    trace.add_argument("key", metavar="COLUMN=VALUE", nargs="+", help="columns of the target, such as id=42")
    trace.add_argument("--target", metavar="NODE", default="", help="search only this target")


def trace_row(args: Namespace) -> Outcome:
    """Exit with status 1 if nothing was found."""
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.tracing import selectors
    from flowapp.tracing.serializers import TraceSerializer

    pipeline = get_pipeline(current_workspace(), args.pipeline)
    traces = selectors.trace_row(pipeline, dict(map(_pair, args.key)), args.target)
    document = TraceSerializer({"pipeline": pipeline.slug, "targets": traces}).data
    shown = text_outcome(document, *(line for trace in document["targets"] for line in _lines(trace)))
    return Outcome(document, shown.show, 0 if any(trace.is_found for trace in traces) else FAILED)


def _pair(text: str) -> tuple[str, str]:
    column, sign, value = text.partition("=")
    if not sign or not column:
        raise UsageError(f"{text!r} is not of the form COLUMN=VALUE", command="flow trace")
    return column, value


def _lines(trace: dict[str, Any]) -> Iterator[str]:
    yield f"{trace['target']}:"
    for location in trace["locations"]:
        if location["couldNotLook"]:
            yield f"  {location['location']}: could not be searched. {location['couldNotLook']}"
        elif not location["rows"]:
            yield f"  {location['location']}: nothing."
        for row in location["rows"]:
            yield f"  {location['location']}: {_where(row)}"
            yield f"    {json.dumps(row['values'], ensure_ascii=False)}"
        if location["note"]:
            yield f"    {location['note']}"
    if not trace["found"]:
        for out in trace["recentlyExcluded"]:
            yield f"  Of recent loads {out['rows']:,} rows were {out['why']}."


def _where(row: dict[str, Any]) -> str:
    parts = []
    if row["rejection"]:
        rejection = row["rejection"]
        parts.append(
            f"{rejection['disposition']}, {rejection['status']}: {rejection['message']} ({rejection['ruleName']})"
        )
    if row["runName"]:
        parts.append(f"run {row['runName']}")
    if row["file"]:
        parts.append(f"file {row['file']}")
    if row["record"] is not None:
        parts.append(f"record {row['record']:,}")
    return "; ".join(parts) or "found; its origin is unknown"
