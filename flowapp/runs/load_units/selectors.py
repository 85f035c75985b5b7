"""Queries for load units: the files that pipelines have found."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal
from uuid import UUID

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.functions import Collate, Concat

from executors.model import NewestFile
from flowapp.accounts.models import Workspace
from flowapp.pipelines.models import Pipeline
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.models import NodeRun, Run
from flowapp.runs.selectors import rejected_before_load
from flowapp.web.sorting import Column
from ir.errors import FlowError

NEWEST_FIRST = ("-changed_at", "id")
COLUMNS = (
    Column("changed", NEWEST_FIRST, starts_high=True),
    Column("name", ("name", "id")),
    Column("size", ("-size", "-id"), starts_high=True),
)
"""The columns that the list can be sorted by."""
BY_CODE_POINT = {"postgresql": "C", "sqlite": "BINARY"}
"""The collation with the same order of names as the engine's, by database."""


def list_units(
    workspace: Workspace, *, pipeline: Pipeline | None = None, run: Run | None = None, state: str | None = None
) -> QuerySet[LoadUnit]:
    """List files, the most recently changed first."""
    filters = {"pipeline": pipeline, "run": run, "state": state}
    units = LoadUnit.objects.filter(workspace=workspace, **{name: v for name, v in filters.items() if v is not None})
    return units.select_related("pipeline", "run").order_by(*NEWEST_FIRST)


def get_unit(workspace: Workspace, unit_id: UUID | str) -> LoadUnit:
    """Return a file of this workspace. Raises FlowError."""
    try:
        return list_units(workspace).get(pk=unit_id)
    except LoadUnit.DoesNotExist:
        raise FlowError(
            "file.unknown", f"Unknown file {str(unit_id)!r} here.", hint="The Files page lists all files."
        ) from None


def loaded_unit_of(unit: LoadUnit) -> LoadUnit | None:
    """Return the unit of the same bytes that was loaded; the unit itself unless it was skipped."""
    if unit.state != UnitState.SKIPPED:
        return unit
    same = LoadUnit.objects.filter(pipeline_id=unit.pipeline_id, sha256=unit.sha256)
    return same.exclude(state=UnitState.SKIPPED).first()


def line_of(run: Run, file: str | None, record: int | None) -> int | None:
    """Return the line of a record in a file that a run has read; None unless every record of the file is one line."""
    units = list(LoadUnit.objects.filter(pipeline_id=run.pipeline_id, name=file).exclude(rows=None)[:MOST_OF_A_NAME])
    # A file of the same name may have had other bytes at another time.
    mine = [unit for unit in units if unit.run_id == run.pk] or units
    first = mine[0].first_line if len(mine) == 1 else None
    return None if first is None or record is None else first + record - 1


MOST_OF_A_NAME = 50


def is_to_be_loaded_again(unit: LoadUnit) -> bool:
    """Return whether a user has requested it since a run last processed the file."""
    return unit.forgotten_at is not None and unit.forgotten_at > unit.changed_at


def failed_names(pipeline_id: UUID, node: str) -> set[str]:
    """Return the names of a source's files that failed and have not been loaded under that name since. An archive that
    failed is loaded once a file in it is."""
    units = LoadUnit.objects.filter(pipeline_id=pipeline_id, node=node)
    same_name = Q(name=OuterRef("name")) | Q(name__startswith=Concat(OuterRef("name"), Value("/")))
    since = units.filter(same_name, state=UnitState.COMMITTED, changed_at__gte=OuterRef("changed_at"))
    return set(units.filter(~Exists(since), state=UnitState.FAILED).values_list("name", flat=True))


def newest_loaded(
    pipeline_id: UUID, node: str, by: Literal["name", "mtime_ns"], without: Collection[str]
) -> NewestFile | None:
    """Return the last loaded file of a source in the order `by`; `without` are hashes to ignore."""
    loaded = LoadUnit.objects.filter(pipeline_id=pipeline_id, node=node, state=UnitState.COMMITTED)
    order = Collate("name", BY_CODE_POINT[connection.vendor]) if by == "name" else F(by)
    newest_first = loaded.exclude(**{by: None}).order_by(order.desc()).values_list("sha256", "name", "mtime_ns")
    found = (NewestFile(name, at or 0) for sha256, name, at in newest_first.iterator() if sha256 not in without)
    return next(found, None)


def rows_read(units: Iterable[LoadUnit]) -> dict[UUID, dict[str, int | None]]:
    """Return `rows` read from sources, `loaded` and `rejected` rows, and the number of `files`, by run. Rows are not
    counted per file. `loaded` and `rejected` are None if unknown; `files` excludes files that a later run has
    processed."""
    runs = {unit.run_id for unit in units if unit.run_id}
    nodes = NodeRun.objects.filter(run__in=runs).values("run")
    counts = nodes.annotate(
        rows=Sum("rows_out", filter=Q(kind="source")),
        loaded=Sum("rows_loaded", filter=Q(kind="target")),
        rejected=Sum("rows_rejected", filter=Q(kind="target")),
    ).exclude(rows=None)
    files = LoadUnit.objects.filter(run__in=runs).exclude(state=UnitState.SKIPPED).values("run")
    counted = dict(files.annotate(files=Count("pk")).values_list("run", "files"))
    read = list(counts.values_list("run", "rows", "loaded", "rejected"))
    early = rejected_before_load({run for run, _, _, rejected in read if rejected is None})
    return {
        run: {"rows": rows, "loaded": loaded, "rejected": early.get(run, rejected), "files": counted.get(run, 0)}
        for run, rows, loaded, rejected in read
    }
