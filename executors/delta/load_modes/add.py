"""append, truncate and blue_green: the files that tasks have written become those of the table.

truncate and blue_green do the same, since a commit replaces all files of a table at once, and readers see the old or
the new ones.
"""

from __future__ import annotations

from deltalake import DeltaTable

from executors.delta.added import added_file
from executors.delta.plan import Change, DeltaPlan
from executors.delta.staged import read_staged, require_all, staged_files
from executors.delta.written import TableWriter


def append(plan: DeltaPlan, table: DeltaTable) -> Change:
    return _add(plan, replaces_all=False)


def replace_all(plan: DeltaPlan, table: DeltaTable) -> Change:
    return _add(plan, replaces_all=True)


def _add(plan: DeltaPlan, *, replaces_all: bool) -> Change:
    if plan.rewrites:
        return _copy(plan, replaces_all=replaces_all)
    folder = plan.log.folder
    sizes = folder.list(plan.run.run_id)
    found = [added_file(folder, path, sizes[path]) for path in staged_files(plan)]
    require_all(plan, sum(rows for _, rows in found))
    return Change([action for action, _ in found], replaces_all=replaces_all, inserted=plan.staged)


def _copy(plan: DeltaPlan, *, replaces_all: bool) -> Change:
    """Write the staged rows without their positions."""
    writer = TableWriter(plan)
    written = writer.write(batch.select(plan.schema.names) for batch in read_staged(plan))
    require_all(plan, written)
    return Change(writer.added, replaces_all=replaces_all, inserted=written)
