"""Selects rejected rows, by key or by filter. A selection is fixed when it is made."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from executors.target_database import HIGHEST, Entry
from flowapp.accounts.models import Workspace
from flowapp.clock import Now
from flowapp.pipelines.models import Pipeline
from flowapp.quarantine.models import Selection
from flowapp.quarantine.reject_tables import by_table, reject_tables_of
from flowapp.quarantine.selectors import KEYS, EntryFilter, find_entries_of_runs, page_filtered, reach, runs_here
from flowapp.runs.holds import Decider
from flowapp.runs.selectors import get_run
from ir.errors import FlowError

MOST_KEYS = 5_000
"""The maximum number of rows that are selected by key."""
MOST_ENTRIES = 100_000
"""The maximum number of entries that a selection by filter reads, newest first."""
AT_ONCE = 20_000


def choose_by_keys(workspace: Workspace, keys: Sequence[str], by: Decider) -> Selection:
    """Select the rows of these keys, `run:row`. Raises FlowError for unknown keys and keys of several pipelines."""
    if not keys or len(keys) > MOST_KEYS:
        raise FlowError(
            "errors.too_many_rows" if keys else "errors.no_rows",
            f"{len(keys):,} rows were chosen." if keys else "No row is selected.",
            hint=f"Choose at most {MOST_KEYS:,} single rows, or all rows of a rule, a field or a run.",
        )
    by_run: dict[str, list[str]] = defaultdict(list)
    for key in dict.fromkeys(keys):
        run, _, row_id = key.partition(":")
        by_run[run].append(row_id)
    runs = [get_run(workspace, run) for run in by_run]
    if len({run.pipeline_id for run in runs}) > 1:
        raise FlowError(
            "errors.several_pipelines",
            "These rows belong to several pipelines.",
            hint="Select rows of one pipeline at a time.",
        )
    entries = list(find_entries_of_runs(workspace, {run: by_run[str(run.pk)] for run in runs}))
    found = {entry["key"] for entry in entries}
    if missing := [key for key in keys if key not in found]:
        raise FlowError(
            "errors.unknown",
            f"Unknown rejected row {missing[0]!r} here.",
            hint="`flow errors list --json` shows all keys.",
        )
    return _freeze(workspace, runs[0].pipeline, entries, {"keys": len(found)}, by, is_whole=True)


def choose_alike(workspace: Workspace, filters: EntryFilter, by: Decider) -> Selection:
    """Select the rows of one pipeline that match the filter, newest first, up to a limit."""
    pipeline = filters.of_pipeline
    if pipeline is None:
        raise FlowError(
            "errors.several_pipelines", "Select rows of one pipeline at a time.", hint="Name a pipeline or a run."
        )
    entries: list[Entry] = []
    cursor, more = "", True
    while more and len(entries) < MOST_ENTRIES:
        page = page_filtered(workspace, filters, cursor=cursor, limit=AT_ONCE, columns=KEYS)
        entries += page.entries
        cursor, more = page.next, bool(page.next) and not (page.is_partial and not page.entries)
    if not entries:
        raise FlowError("errors.no_rows", "No matching row is left.", hint="Review the rows first.")
    return _freeze(workspace, pipeline, entries, filters.words(), by, is_whole=not cursor)


def key_of_entry(workspace: Workspace, row_key: str) -> str:
    """Return the key of one row. Raises the errors of `keys_of_entries`."""
    return keys_of_entries(workspace, [row_key])[0]


def keys_of_entries(workspace: Workspace, row_keys: Sequence[str]) -> list[str]:
    """Return the keys of rows in the given order; each row is named by its key or by the number of one of its entries.
    Each table is queried once. Raises FlowError."""
    numbers = {row_key: _number(row_key) for row_key in row_keys if row_key.isdecimal()}
    found = _keys_of_numbers(workspace, sorted(set(numbers.values()))) if numbers else {}
    return [_only(row_key, found.get(numbers[row_key], {})) if row_key in numbers else row_key for row_key in row_keys]


def _number(row_key: str) -> int:
    """Parse the number of an entry. Raises FlowError."""
    if len(row_key) > len(str(HIGHEST)) or int(row_key) > HIGHEST:
        raise _unknown(row_key)
    return int(row_key)


def _only(row_key: str, found: Mapping[str, str]) -> str:
    """Return the key of the one row. `found` maps keys to the pipelines of their rows. Raises FlowError unless there is
    one."""
    if len(found) > 1:
        keys = ", ".join(f"{key} (of {pipeline})" for key, pipeline in sorted(found.items()))
        raise FlowError(
            "errors.ambiguous", f"Several tables contain an entry {row_key}.", hint=f"Name the row by its key: {keys}."
        )
    if not found:
        raise _unknown(row_key)
    return next(iter(found))


def _unknown(row_key: str) -> FlowError:
    return FlowError(
        "errors.unknown",
        f"Unknown rejected row {row_key[:40]} here.",
        hint="`flow errors list` shows the newest rows.",
    )


def _keys_of_numbers(workspace: Workspace, numbers: Sequence[int]) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for shared, rejects in reach(workspace, by_table(reject_tables_of(workspace, None, None))):
        entries = rejects.entries(shared.table, numbers)
        mine = [entry for entry in entries if entry["pipelineId"] in shared.pipelines]
        own_runs = runs_here(workspace, {entry["runId"] for entry in mine})
        for entry in mine:
            if entry["runId"] in own_runs:
                found[entry["id"]][f"{entry['runId']}:{entry['rowId']}"] = entry["pipelineId"]
    return found


def _freeze(
    workspace: Workspace,
    pipeline: Pipeline,
    entries: Iterable[Entry],
    filters: dict[str, object],
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
        part = parts.setdefault((entry["connection"], *entry["table_name"]), {"ids": [], "revisions": []})
        part["ids"].append(entry["id"])
        part["revisions"].append(entry["revision"] or 0)
    return Selection.objects.create(
        workspace=workspace,
        pipeline=pipeline,
        made_by=by.user,
        made_at=Now(),
        filters=filters,
        rows=len(seen),
        is_whole=is_whole,
        parts=[{"connection": c, "schema": s, "table": t, **rows} for (c, s, t), rows in parts.items()],
    )
