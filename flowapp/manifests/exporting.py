"""Export a workspace to the files of a project. Unchanged parts stay byte for byte."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from flowapp.accounts.models import User, Workspace
from flowapp.clock import Now
from flowapp.connections.models import Connection
from flowapp.manifests.connection_kinds import DECLARED_KINDS, declared_fields, stored_fields
from flowapp.manifests.models import AppliedConnection, AppliedPipeline
from flowapp.manifests.planning import parse_project
from flowapp.manifests.states import (
    CurrentPipeline,
    WorkspaceState,
    note_connection,
    note_pipeline,
    read_state,
    saved_hash,
)
from flowapp.pipelines.documents import syntax_of
from ir.documents import Syntax, read_document
from ir.errors import FlowError
from ir.json_diff import make_patch
from ir.json_edits import Patch, PatchRefused
from ir.manifests.compiled_files import refer_again
from ir.manifests.edits import edit_manifest
from ir.manifests.project import FOLDER, PROJECT_FILE, Manifest, Project, ProjectPipeline
from ir.manifests.texts import write_manifest
from ir.pointers import ROOT, Pointer

Texts = dict[str, str | None]
"""Texts by file name; None for a file to remove."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The files that differ from those of the project, and the resulting project."""

    texts: Mapping[str, str | None]
    project: Project


def export_project(workspace: Workspace, files: Mapping[str, str | bytes]) -> Exported:
    """Return the files of a project, changed so that they describe the workspace. Nothing is written.

    Without a project, return new files. Raises InvalidProject, and FlowError `export.not_possible` if a file cannot be
    edited in place.
    """
    before = files or {PROJECT_FILE: write_manifest({"project": {"name": _name_of_new(workspace)}}, "toml")}
    project = parse_project(workspace, before)
    state = read_state(workspace, project.name)
    texts = _Export(project, state).run()
    written = {name: text for name, text in texts.items() if text is not None}
    changed = {name: text for name, text in texts.items() if not files or text != project.texts.get(name)}
    return Exported(changed, parse_project(workspace, written))


def _name_of_new(workspace: Workspace) -> str:
    """Return the name of the only project of the workspace, whose files may be lost, else the name of the workspace."""
    applied = AppliedPipeline.objects.filter(workspace=workspace, removed_at=None).order_by()
    names = list(applied.values_list("project", flat=True).distinct())
    return names[0] if len(names) == 1 else workspace.slug


def record_export(workspace: Workspace, exported: Exported, user: User | None = None) -> None:
    """Record exported pipelines and connections as applied, so that they have no drift."""
    project = exported.project
    state = read_state(workspace, project.name)
    with transaction.atomic():
        for slug, declared in project.pipelines.items():
            current = state.pipelines.get(slug)
            if current is None or current.version is None or slug in state.owners:
                continue
            if current.is_equal(saved_hash(declared.document)):
                note_pipeline(workspace, project.name, declared, current.version.number, user)
        gone = AppliedPipeline.objects.filter(workspace=workspace, project=project.name, removed_at=None)
        gone.exclude(slug__in=list(project.pipelines)).update(removed_at=Now())
        undeclared = AppliedConnection.objects.filter(workspace=workspace, project=project.name)
        undeclared.exclude(name__in=list(project.connections)).delete()
        for name, connection in project.connections.items():
            fields, stored = declared_fields(connection.spec), state.connections.get(name)
            if stored is not None and stored_fields(stored) == fields:
                note_connection(project.name, stored, fields, user)


class _Export:
    """One export: first the edits, which move no entries, then the removals from the last entry to the first."""

    def __init__(self, project: Project, state: WorkspaceState) -> None:
        self._project, self._state = project, state
        self._texts: Texts = dict(project.texts)
        self._gone: dict[tuple[str, Pointer], list[ProjectPipeline]] = defaultdict(list)

    def run(self) -> Texts:
        moved = [slug for slug, declared in self._project.pipelines.items() if self._update(declared)]
        self._connections()
        self._remove_entries()
        for slug in [*moved, *_new_pipelines(self._project, self._state)]:
            self._add_file(slug, self._state.pipelines[slug])
        return self._texts

    # --- pipelines --------------------------------------------------------------------------------------------

    def _update(self, declared: ProjectPipeline) -> bool:
        """Update an entry. Return whether the pipeline needs its own file, because a short form cannot express it any
        more."""
        current = self._state.pipelines.get(declared.id)
        record = self._state.applied_pipelines.get(declared.id)
        if current is None or current.version is None or current.is_archived:
            if record is not None and record.removed_at is None:
                self._forget(declared)
            return False
        if current.is_equal(saved_hash(declared.document)):
            return False
        if not declared.manifest.is_full:
            self._forget(declared)
            return True
        value = declared.manifest.value
        head = {"$schema": value["$schema"]} if "$schema" in value else {}
        wanted = {**head, **refer_again(value, declared.document, current.document)}
        self._edit(declared.manifest.file, make_patch(value, wanted), declared.manifest.at)
        return False

    def _forget(self, declared: ProjectPipeline) -> None:
        self._gone[declared.manifest.file, declared.manifest.at].append(declared)

    def _remove_entries(self) -> None:
        for (file, at), gone in sorted(
            self._gone.items(), key=lambda item: (item[0][0], tuple(item[0][1])), reverse=True
        ):
            manifest = gone[0].manifest
            left = [table for table in manifest.value.get("tables", ()) if table not in {one.table for one in gone}]
            if left:
                self._edit(file, list(_without_tables(manifest, left)), at)
            elif at == ROOT:
                self._texts[file] = None
            else:
                self._edit(file, [{"op": "remove", "path": str(at)}], ROOT)

    def _add_file(self, slug: str, current: CurrentPipeline) -> None:
        text = current.text
        syntax = syntax_of(text)
        others: dict[Syntax, Syntax] = {"json": "toml", "toml": "json"}
        name = f"{FOLDER}/{slug}.{syntax}"
        if self._texts.get(name) is not None:
            syntax = others[syntax]
            name, text = f"{FOLDER}/{slug}.{syntax}", write_manifest(current.document, syntax)
        if self._texts.get(name) is not None:
            raise FlowError(
                "export.not_possible",
                f"The pipeline {slug} needs a file of its own, but {name} contains another one.",
                hint="Rename that file, then export again.",
            )
        self._texts[name] = text

    # --- connections ------------------------------------------------------------------------------------------

    def _connections(self) -> None:
        at = ROOT / "connections"
        for name, stored in self._state.connections.items():
            declared = self._project.connections.get(name)
            fields = stored_fields(stored)
            if declared is None and name in self._state.sharers and name not in self._state.applied_connections:
                continue
            if declared is None:
                self._ensure_connections()
                self._edit(PROJECT_FILE, [{"op": "add", "path": str(at / name), "value": _declaration(stored)}], ROOT)
            elif declared_fields(declared.spec) != fields:
                self._edit(PROJECT_FILE, list(_connection_patch(name, declared_fields(declared.spec), stored)), ROOT)
        for name in self._project.connections:
            if name not in self._state.connections and name in self._state.applied_connections:
                self._edit(PROJECT_FILE, [{"op": "remove", "path": str(at / name)}], ROOT)

    def _ensure_connections(self) -> None:
        text = self._texts[PROJECT_FILE] or ""
        if "connections" not in read_document(text, "toml").value:
            self._edit(PROJECT_FILE, [{"op": "add", "path": "/connections", "value": {}}], ROOT)

    # --- texts ------------------------------------------------------------------------------------------------

    def _edit(self, file: str, patch: Patch, at: Pointer) -> None:
        syntax: Syntax = "json" if file.endswith(".json") else "toml"
        placed = [{**step, **{key: f"{at}{step[key]}" for key in ("path", "from") if key in step}} for step in patch]
        try:
            self._texts[file] = edit_manifest(self._texts[file] or "", syntax, placed)
        except PatchRefused as error:
            raise FlowError(
                "export.not_possible",
                f"{file} cannot be edited in place: {error.message}",
                hint="Edit the changed parts, or remove the entry, then export again.",
            ) from None


def _new_pipelines(project: Project, state: WorkspaceState) -> Iterable[str]:
    """Return the saved pipelines of the workspace that no manifest declares, without those of other projects."""
    return [
        slug
        for slug, current in state.pipelines.items()
        if slug not in project.pipelines
        and slug not in state.owners
        and current.version is not None
        and not current.is_archived
    ]


def _without_tables(manifest: Manifest, left: list[str]) -> Iterator[dict[str, Any]]:
    tables = manifest.value["tables"]
    for i in reversed(range(len(tables))):
        if tables[i] not in left:
            yield {"op": "remove", "path": f"/tables/{i}"}


def _declaration(stored: Connection) -> dict[str, Any]:
    """Return a connection in the form of flow.toml, with variables named after it as secrets."""
    return DECLARED_KINDS[stored.kind].export(stored, stored.name.upper().replace("-", "_"))


def _connection_patch(name: str, declared: Mapping[str, Any], stored: Connection) -> Iterator[dict[str, Any]]:
    at, fields = ROOT / "connections" / name, stored_fields(stored)
    if stored.kind != declared["kind"] or not DECLARED_KINDS[stored.kind].address:
        yield {"op": "replace", "path": str(at), "value": _declaration(stored)}
        return
    for field, value in fields.items():
        if declared.get(field) != value:
            yield {"op": "add", "path": str(at / field), "value": value}
