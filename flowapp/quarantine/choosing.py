"""Choosing rejected rows, by name or by what they have in common: frozen, so that nothing changes under a person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from django.db.models.functions import Now

from executors.postgres.ddl import exists
from executors.postgres.quarantine_pages import read_entries
from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline
from flowapp.quarantine.models import Selection
from flowapp.quarantine.places import places_of
from flowapp.quarantine.selectors import KEYS, Entry, Wanted, find_entries_of_runs, page_wanted, reach
from flowapp.runs.holds import Decider
from flowapp.runs.models import Run
from flowapp.runs.selectors import get_run
from ir.errors import FlowError

MOST_KEYS = 5_000
"""Rows that may be named one by one."""
MOST_ENTRIES = 100_000
"""Entries that a choice by what they have in common looks at, newest first."""
AT_ONCE = 20_000


def choose_by_keys(workspace: Workspace, keys: Sequence[str], by: Decider) -> Selection:
    """The rows of these keys, `run:row`. Raises FlowError for keys that are none of ours, or of several pipelines."""
    if not keys or len(keys) > MOST_KEYS:
        raise FlowError(
            "errors.too_many_rows" if keys else "errors.no_rows",
            f"{len(keys):,} rows were chosen." if keys else "No row was chosen.",
            hint=f"Choose at most {MOST_KEYS:,} one by one, or all that a rule, a field or a run has in common.",
        )
    by_run: dict[str, list[str]] = defaultdict(list)
    for key in dict.fromkeys(keys):
        run, _, row_id = key.partition(":")
        by_run[run].append(row_id)
    runs = [get_run(workspace, run) for run in by_run]
    if len({run.pipeline_id for run in runs}) > 1:
        raise FlowError("errors.several_pipelines", "These rows are of several pipelines.",
                        hint="Work on the rows of one pipeline at a time.")  # fmt: skip
    entries = list(find_entries_of_runs(workspace, {run: by_run[str(run.pk)] for run in runs}))
    found = {entry["key"] for entry in entries}
    if missing := [key for key in keys if key not in found]:
        raise FlowError("error.unknown", f"There is no rejected row {missing[0]!r} here.",
                        hint="`flow errors list --json` shows the keys.")  # fmt: skip
    return _freeze(workspace, runs[0].pipeline, entries, {"keys": len(found)}, by, is_whole=True)


def choose_alike(workspace: Workspace, wanted: Wanted, by: Decider) -> Selection:
    """The rows of one pipeline that have something in common, the newest first, within bounds."""
    pipeline = wanted.run.pipeline if wanted.run else wanted.pipeline
    if pipeline is None:
        raise FlowError("errors.several_pipelines", "Rows are chosen of one pipeline at a time.",
                        hint="Name a pipeline or a run.")  # fmt: skip
    entries: list[Entry] = []
    cursor, more = "", True
    while more and len(entries) < MOST_ENTRIES:
        page = page_wanted(workspace, wanted, cursor=cursor, limit=AT_ONCE, columns=KEYS)
        entries += page.entries
        cursor, more = page.next, bool(page.next) and not (page.is_partial and not page.entries)
    if not entries:
        raise FlowError("errors.no_rows", "No row is left that this says.", hint="Look at the rows first.")
    return _freeze(workspace, pipeline, entries, wanted.words(), by, is_whole=not cursor)


def key_of_entry(workspace: Workspace, ident: str) -> str:
    """The key of a row, by itself or by the number of one of its entries. Raises FlowError."""
    if not ident.isdecimal():
        return ident
    found = set(_keys_of_number(workspace, int(ident)))
    if len(found) > 1:
        raise FlowError("error.conflict", f"Several tables hold an entry {ident}.",
                        hint=f"Name the row by its key: {', '.join(sorted(found))}.")  # fmt: skip
    if not found:
        raise FlowError("error.unknown", f"There is no rejected row {ident} here.",
                        hint="`flow errors list` shows the newest ones.")  # fmt: skip
    return found.pop()


def _keys_of_number(workspace: Workspace, number: int) -> Iterator[str]:
    for place, reached in reach(workspace, places_of(workspace, None, None)):
        if exists(reached, place.table.schema, place.table.table):
            for entry in read_entries(reached, place.table, [number]):
                if entry["pipelineId"] == place.pipeline and _is_ours(workspace, entry):
                    yield f"{entry['runId']}:{entry['rowId']}"


def _is_ours(workspace: Workspace, entry: Entry) -> bool:
    try:
        return Run.objects.filter(workspace=workspace, pk=UUID(entry["runId"])).exists()
    except ValueError:
        return False


def _freeze(
    workspace: Workspace,
    pipeline: Pipeline,
    entries: Iterable[Entry],
    wanted: dict[str, object],
    by: Decider,
    *,
    is_whole: bool,
) -> Selection:
    parts: dict[tuple[str, str, str], dict[str, list[int]]] = {}
    seen: set[str] = set()
    for entry in entries:
        if entry["key"] in seen:
            continue
        seen.add(entry["key"])
        part = parts.setdefault((entry["connection"], *entry["place_table"]), {"ids": [], "revisions": []})
        part["ids"].append(entry["id"])
        part["revisions"].append(entry["revision"] or 0)
    return Selection.objects.create(
        workspace=workspace, pipeline=pipeline, made_by=by.user, made_at=Now(), wanted=wanted, rows=len(seen),
        is_whole=is_whole,
        parts=[{"connection": c, "schema": s, "table": t, **rows} for (c, s, t), rows in parts.items()],
    )  # fmt: skip
