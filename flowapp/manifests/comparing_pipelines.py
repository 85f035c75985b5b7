"""Compare the pipelines of a project with the workspace and with the last apply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flowapp.manifests.models import AppliedPipeline
from flowapp.manifests.states import CurrentPipeline, WorkspaceState, applied_document, saved_hash
from flowapp.pipelines.hook_roles import require_hook_role
from ir.errors import FlowError
from ir.json_diff import make_patch
from ir.load_modes import load_mode
from ir.manifests.describing import describe_changes, schedule_text, without_schema
from ir.manifests.plan import Action, Drift, DriftKind, Need, PipelineChange, ScheduleChange
from ir.manifests.project import Project, ProjectPipeline
from ir.pipeline import Pipeline as Document

Table = tuple[str, str, str]
"""A connection, a schema and a table."""


def compare_pipelines(project: Project, state: WorkspaceState) -> Iterator[PipelineChange]:
    """Yield the pipelines that applying would change or record, then those that it would remove."""
    removed = list(_find_removed(project, state))
    left = {table: current.pipeline.slug for current, _ in removed for table in _targets_of(current.document)}
    for slug, desired in project.pipelines.items():
        yield from _declared(desired, state.pipelines.get(slug), state.applied_pipelines.get(slug), state, left)
    for current, record in removed:
        yield _removed(current, record, state)


def _find_removed(project: Project, state: WorkspaceState) -> Iterator[tuple[CurrentPipeline, AppliedPipeline]]:
    for slug, record in sorted(state.applied_pipelines.items()):
        current = state.pipelines.get(slug)
        if slug not in project.pipelines and record.removed_at is None and current and not current.is_archived:
            yield current, record


def list_paused(project: Project, state: WorkspaceState) -> list[str]:
    """Return the ids of declared pipelines whose schedule is paused, or that are disabled, in the browser."""
    known = [state.pipelines[slug] for slug in project.pipelines if slug in state.pipelines]
    switches = [current.pipeline for current in known if not current.is_archived]
    return [pipeline.slug for pipeline in switches if pipeline.paused or not pipeline.enabled]


def list_unmanaged(project: Project, state: WorkspaceState) -> list[str]:
    """Return the ids of pipelines that no manifest declares and no project has applied."""
    managed = {slug for slug, record in state.applied_pipelines.items() if record.removed_at is None}
    return [slug for slug in _list_undeclared(project, state) if slug not in managed and slug not in state.owners]


def list_of_others(project: Project, state: WorkspaceState) -> list[str]:
    """Return the ids of pipelines that belong to other projects, and that this one does not declare."""
    return [slug for slug in _list_undeclared(project, state) if slug in state.owners]


def _list_undeclared(project: Project, state: WorkspaceState) -> Iterator[str]:
    for slug, current in state.pipelines.items():
        if slug not in project.pipelines and not current.is_archived:
            yield slug


def _declared(
    desired: ProjectPipeline,
    current: CurrentPipeline | None,
    record: AppliedPipeline | None,
    state: WorkspaceState,
    left: Mapping[Table, str],
) -> Iterator[PipelineChange]:
    """Yield the change of a declared pipeline. `left` maps tables to the removed pipelines that loaded them."""
    saved = saved_hash(desired.document)
    active = record if record is not None and record.removed_at is None else None
    drift = _of_another(desired.id, state) or _drift(current, active, record, saved, state)
    action = _action(current, active, record, saved, drift)
    if action == "unchanged":
        return
    before = current.document if current is not None else {}
    after = without_schema(desired.document)
    yield PipelineChange.of(
        id=desired.id,
        action=action,
        file=desired.manifest.file,
        line=desired.manifest.line,
        never_ran=current is None or current.pipeline.run_counter == 0,
        words=_words(action, before, after),
        patch=_patch(before, after),
        schedule=_schedule_change(before, after),
        drift=drift,
        tables=[],
        problems=[],
        destructive=[*_replaced(before, desired.parsed.pipeline), *_loaded_again(desired.parsed.pipeline, left)],
        needs=_needs(desired.parsed.pipeline, current, drift),
    )


def _action(
    current: CurrentPipeline | None,
    active: AppliedPipeline | None,
    record: AppliedPipeline | None,
    saved: str,
    drift: Drift | None,
) -> Action:
    if drift is not None:
        return "drifted" if active is None or active.document_hash == saved else "changed"
    if current is None or current.version is None:
        return "new"
    if current.is_archived:
        return "restored"
    if not current.is_equal(saved):
        return "changed"
    is_recorded = active is not None and active.document_hash == saved and record is not None
    return "unchanged" if is_recorded else "adopted"


def _drift(
    current: CurrentPipeline | None,
    active: AppliedPipeline | None,
    record: AppliedPipeline | None,
    saved: str,
    state: WorkspaceState,
) -> Drift | None:
    """Return the changes made in the browser since the last apply that applying would overwrite."""
    if active is None:
        return _unmanaged(current, record, saved)
    if current is None:
        return _describe_drift("deleted", current, ["The pipeline was deleted."], [])
    if current.is_archived:
        return _describe_drift("archived", current, ["The pipeline was archived."], [])
    if _is_as_applied(current, active) or current.is_equal(saved):
        return None
    applied = applied_document(state, active)
    words, patch = describe_changes(applied, current.document), make_patch(applied, current.document)
    return _describe_drift("edited", current, words, patch)


def _of_another(slug: str, state: WorkspaceState) -> Drift | None:
    owner = state.owners.get(slug)
    return _describe_drift("other_project", None, [f"It belongs to project {owner}."], []) if owner else None


def _unmanaged(current: CurrentPipeline | None, record: AppliedPipeline | None, saved: str) -> Drift | None:
    """Return drift for a pipeline that no project has applied. A pipeline that a project has archived has none."""
    if current is None or current.version is None or current.is_equal(saved):
        is_archived_by_hand = current is not None and current.is_archived and record is None
        return _describe_drift("archived", current, ["The pipeline was archived."], []) if is_archived_by_hand else None
    if record is not None and current.is_archived and _is_as_applied(current, record):
        return None
    return _describe_drift("unmanaged", current, ["The pipeline was made or changed in the browser."], [])


def _is_as_applied(current: CurrentPipeline, record: AppliedPipeline) -> bool:
    version = current.version
    # A pipeline that was deleted and made again has the same numbers.
    is_older = version is not None and version.created_at <= record.applied_at
    is_same_version = version is not None and version.number == record.version_number and is_older
    return is_same_version or current.is_equal(record.document_hash)


def _describe_drift(
    kind: DriftKind, current: CurrentPipeline | None, words: list[str], patch: list[dict[str, Any]]
) -> Drift:
    author = current.version.author if current is not None and current.version is not None else None
    by = author.email if author is not None and kind in ("edited", "unmanaged") else None
    return Drift.of(kind=kind, words=words, patch=patch, by=by)


def _removed(current: CurrentPipeline, record: AppliedPipeline, state: WorkspaceState) -> PipelineChange:
    drift = None
    if not _is_as_applied(current, record):
        applied = applied_document(state, record)
        words, patch = describe_changes(applied, current.document), make_patch(applied, current.document)
        drift = _describe_drift("edited", current, words, patch)
    return PipelineChange.of(
        id=current.pipeline.slug,
        action="removed",
        file=record.file,
        never_ran=current.pipeline.run_counter == 0,
        words=["The pipeline is archived. Its versions, its runs and the tables that it loaded stay."],
        patch=[],
        drift=drift,
        tables=[],
        problems=[],
        destructive=["The pipeline no longer runs, neither by its schedule nor manually."],
        needs=["yes"] if drift is None else ["force", "yes"],
    )


def _words(action: Action, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    if before:
        words = describe_changes(before, after)
        return [*(["The pipeline is restored from the archive."] if action == "restored" else []), *words]
    targets = [node for node in after["nodes"] if node["kind"] == "target"]
    loads = ", ".join(f"{node['schema']}.{node['table']} ({node['loadMode']})" for node in targets)
    schedule = schedule_text(after.get("schedule"))
    return [f"New pipeline that loads {loads}.", f"It runs {schedule}." if schedule else "It has no schedule."]


def _patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    return make_patch(before, after) if before else [{"op": "add", "path": "", "value": after}]


def _schedule_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> ScheduleChange | None:
    old, new = schedule_text(before.get("schedule")), schedule_text(after.get("schedule"))
    return None if old == new else ScheduleChange.of(before=old, after=new)


def _replaced(before: Mapping[str, Any], document: Document) -> Iterator[str]:
    """Describe the tables that the next run empties or replaces, unlike the current version."""
    known = {table for table, mode in _targets_of(before).items() if load_mode(mode).replaces_all_rows}
    for target in document.targets():
        location = (target.connection, target.schema_, target.table)
        if load_mode(target.load_mode).replaces_all_rows and location not in known:
            yield f"The next run replaces all rows of {target.schema_}.{target.table} ({target.load_mode})."


def _loaded_again(document: Document, left: Mapping[Table, str]) -> Iterator[str]:
    """Describe the tables that a removed pipeline has loaded, for example because its id has changed: this pipeline
    loads the same rows again."""
    for target in document.targets():
        other = left.get((target.connection, target.schema_, target.table))
        if other is not None and not load_mode(target.load_mode).replaces_all_rows:
            yield (
                f"The next run loads everything into {target.schema_}.{target.table} that {other} has loaded there: "
                "files and watermarks belong to the id of a pipeline."
            )


def _targets_of(document: Mapping[str, Any]) -> dict[Table, str]:
    """Return the load modes of a valid document's targets by their tables."""
    targets = [node for node in document.get("nodes", ()) if node.get("kind") == "target"]
    return {(node["connection"], node["schema"], node["table"]): node["loadMode"] for node in targets}


def _needs(document: Document, current: CurrentPipeline | None, drift: Drift | None) -> list[Need]:
    needs: list[Need] = ["force"] if drift is not None else []
    try:
        require_hook_role("editor", document, current.version if current is not None else None)
    except FlowError:
        needs.append("admin")
    return needs
