"""Undo files: first the numbers of rows that would be deleted, then the run that deletes them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from executors.target_database import FileRows, Owner, TableName, preview_undo
from flowapp.accounts.models import User
from flowapp.connections.target_databases import database_of
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.runs.dispatch import finish_abandoned, run_to_end
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.load_units.selectors import is_to_be_loaded_again, loaded_unit_of
from flowapp.runs.models import ACTIVE, Run, RunKind, Trigger
from flowapp.runs.run_kinds import Engine
from flowapp.runs.services import queue_for
from flowapp.undos.models import FileUndo
from ir.errors import FlowError
from ir.nodes import Target


@dataclass(frozen=True, slots=True)
class TargetPreview:
    """What would be deleted from one target. `runs` are the numbers of those that have loaded the file."""

    node: str
    found: FileRows
    runs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UndoPreview:
    """What an undo of a file would delete. `cancels_request` means that a request to load the file again, which no run
    has fulfilled yet, is cancelled too. `sharing` are further targets of the same tables."""

    unit: LoadUnit
    targets: tuple[TargetPreview, ...]
    cancels_request: bool
    sharing: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(target.found.rows for target in self.targets)

    @property
    def rows_of_nodes(self) -> dict[str, int]:
        return dict.fromkeys(self.sharing, 0) | {target.node: target.found.rows for target in self.targets}


def preview(unit: LoadUnit) -> UndoPreview:
    """Count the rows of a file in all targets of its pipeline. For a file skipped as a duplicate, that is the file with
    the same bytes. Raises FlowError where the file cannot be undone exactly."""
    loaded = _undoable(unit)
    _refuse_former_tables(loaded)
    targets = _targets(loaded.pipeline)
    first: dict[tuple[str, str, str], Target] = {}
    for target in targets:
        first.setdefault(_table_of(target), target)
    found = {table: shown for table, target in first.items() if (shown := _preview(loaded, target)) is not None}
    if not found:
        raise FlowError(
            "undo.not_loaded",
            f"No target of {loaded.pipeline.slug} has loaded {loaded.name}.",
            hint="There is nothing to undo.",
        )
    sharing = tuple(t.id for t in targets if _table_of(t) in found and t is not first[_table_of(t)])
    return UndoPreview(loaded, tuple(found.values()), is_to_be_loaded_again(loaded), sharing)


def undo_file(
    unit: LoadUnit, reason: str, rows: int, trigger: Trigger, *, user: User | None = None, send: bool = True
) -> Run:
    """Request a run that deletes the rows of a file; it waits for the runs in progress. `rows` is the number that was
    shown. Raises FlowError."""
    if not reason.strip():
        raise FlowError("reason.required", "Undoing a file needs a reason.", hint="Give a reason. It is stored.")
    found = preview(unit)
    if found.rows != rows:
        raise FlowError(
            "undo.rows_changed",
            f"{rows:,} rows were shown, but {found.unit.name} has {found.rows:,} in its targets now.",
            hint="Look at the numbers again, then undo the file.",
        )
    loaded = found.unit
    with transaction.atomic():
        run = queue_for(RunKind.UNDO, loaded.pipeline, trigger, user=user, send=send)
        _refuse_busy(loaded)
        FileUndo.objects.create(
            workspace_id=loaded.workspace_id, run=run, unit=loaded, reason=reason.strip(), rows=found.rows_of_nodes
        )
    return run


def undo_inline(unit: LoadUnit, reason: str, rows: int, *, engine: Engine | None = None) -> Run:
    """Undo a file in this process, after the runs in progress. Raises the errors of `undo_file`."""
    finish_abandoned(unit.pipeline, RunKind.UNDO, engine)
    return run_to_end(undo_file(unit, reason, rows, Trigger.CLI, send=False), engine)


def _undoable(unit: LoadUnit) -> LoadUnit:
    loaded = loaded_unit_of(unit)
    if loaded is None:
        raise FlowError(
            "undo.not_loaded", f"{unit.name} has never been loaded by this pipeline.", hint="There is nothing to undo."
        )
    if loaded.state == UnitState.UNDONE:
        raise FlowError("undo.done", f"{loaded.name} was undone already.", hint="To load it again, choose Load again.")
    if loaded.state == UnitState.PROCESSING:
        raise FlowError("undo.busy", f"{loaded.name} is being loaded now.", hint="Wait until its run finishes.")
    _refuse_busy(loaded)
    return loaded


def _refuse_busy(unit: LoadUnit) -> None:
    busy = FileUndo.objects.select_related("run").filter(unit=unit, run__state__in=ACTIVE).first()
    if busy is not None:
        raise FlowError(
            "undo.busy", f"Run {busy.run.name} is undoing {unit.name}.", hint="Wait until that run finishes."
        )


def _refuse_former_tables(unit: LoadUnit) -> None:
    """Refuse to undo a file that is also in a table that the pipeline no longer loads: a run would leave its rows
    there, and the file would count as undone."""
    now = {_table_of(target) for target in _targets(unit.pipeline)}
    runs = Run.objects.filter(tries__unit=unit, tries__state=UnitState.COMMITTED).select_related("version")
    documents = {run.document for run in runs}
    former = {_table_of(target): target for text in documents for target in read_document(text).targets()}
    for table, target in former.items():
        if table not in now and _is_loaded(unit, target):
            raise FlowError(
                "undo.target_gone",
                f"{unit.name} was also loaded into {target.schema_}.{target.table} (connection {target.connection}), "
                f"which {unit.pipeline.slug} no longer loads.",
                hint="Add this target again, then undo the file. Or delete the rows of the table yourself.",
            )


def _table_of(target: Target) -> tuple[str, str, str]:
    return target.connection, target.schema_, target.table


def _is_loaded(unit: LoadUnit, target: Target) -> bool:
    try:
        return _count(unit, target) is not None
    except FlowError as error:
        return error.code != "undo.table_gone"


def _preview(unit: LoadUnit, target: Target) -> TargetPreview | None:
    found = _count(unit, target)
    return TargetPreview(target.id, found, _numbers(unit, found)) if found is not None else None


def _count(unit: LoadUnit, target: Target) -> FileRows | None:
    """Count the rows of a file in a table; None if the pipeline has not loaded it there."""
    connection = database_of(unit.workspace, target, "Undoing files is")
    owner = Owner(str(unit.workspace_id), unit.pipeline.slug)
    return preview_undo(connection, owner, TableName(target.schema_, target.table), unit.sha256, node=target.id)


def _targets(pipeline: Pipeline) -> list[Target]:
    version = PipelineVersion.objects.filter(pipeline=pipeline).order_by("-number").first()
    return read_document(version.document).targets() if version else []


def _numbers(unit: LoadUnit, found: FileRows) -> tuple[int, ...]:
    runs = Run.objects.filter(pipeline=unit.pipeline_id, pk__in=[run.run_id for run in found.runs])
    return tuple(runs.order_by("number").values_list("number", flat=True))
