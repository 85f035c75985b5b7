"""The current state of a workspace, and the records of the last apply."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Exists, F, OuterRef

from flowapp.accounts.models import User, Workspace
from flowapp.connections.models import Connection
from flowapp.manifests.models import AppliedConnection, AppliedPipeline
from flowapp.pipelines.documents import syntax_of
from flowapp.pipelines.models import Pipeline, PipelineVersion
from ir.canonical import document_hash
from ir.manifests.describing import without_schema
from ir.manifests.project import ProjectPipeline
from ir.schema import SCHEMA_ID
from ir.toml_text import read_toml


def saved_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document in the form in which `apply` saves it, with the URL of its schema."""
    return {"$schema": SCHEMA_ID, **without_schema(document)}


def saved_hash(document: Mapping[str, Any]) -> str:
    return document_hash(saved_document(document))


def read_text(text: str) -> dict[str, Any]:
    """Return the plain document of a stored version, whose text is valid."""
    text = text.removeprefix("\ufeff")
    value: dict[str, Any] = json.loads(text) if syntax_of(text) == "json" else read_toml(text)
    return value


@dataclass
class CurrentPipeline:
    """A pipeline with its newest version; None before the first."""

    pipeline: Pipeline
    version: PipelineVersion | None

    @property
    def is_archived(self) -> bool:
        return self.pipeline.archived_at is not None

    @property
    def text(self) -> str:
        """The text of the newest version; empty before the first."""
        return self.version.document.removeprefix("\ufeff") if self.version is not None else ""

    @cached_property
    def document(self) -> dict[str, Any]:
        """The newest document without the URL of its schema; empty before the first version."""
        return without_schema(read_text(self.text)) if self.text else {}

    @cached_property
    def hash(self) -> str:
        return saved_hash(self.document)

    def is_equal(self, saved: str) -> bool:
        """Return whether the newest document has this hash, with the schema URL that `apply` adds."""
        return self.version is not None and (self.version.sha256 == saved or self.hash == saved)


@dataclass(frozen=True, slots=True)
class WorkspaceState:
    """Pipelines and connections of a workspace by id and name, and the records of the last apply of a project.

    `owners` are the other projects that pipelines belong to, by id; `sharers` are the other projects that declare a
    connection, by its name. `applied_texts` are the texts of the last apply of pipelines that have a newer version.
    """

    workspace: Workspace
    project: str
    pipelines: Mapping[str, CurrentPipeline]
    connections: Mapping[str, Connection]
    applied_pipelines: Mapping[str, AppliedPipeline]
    applied_connections: Mapping[str, AppliedConnection]
    owners: Mapping[str, str]
    sharers: Mapping[str, Sequence[str]]
    applied_texts: Mapping[str, str]


def read_state(workspace: Workspace, project: str) -> WorkspaceState:
    """Read the state of a workspace for a project of this name, with a fixed number of queries."""
    newest = PipelineVersion.objects.filter(workspace=workspace, number=F("pipeline__latest_number"))
    versions = {version.pipeline_id: version for version in newest.select_related("author")}
    pipelines = Pipeline.objects.filter(workspace=workspace).order_by("slug")
    applied = list(AppliedPipeline.objects.filter(workspace=workspace))
    owners = {record.slug: record.project for record in applied if record.removed_at is None}
    declared = list(AppliedConnection.objects.filter(workspace=workspace).order_by("project"))
    sharers: dict[str, list[str]] = defaultdict(list)
    for record in declared:
        if record.project != project:
            sharers[record.name].append(record.project)
    return WorkspaceState(
        workspace,
        project,
        {pipeline.slug: CurrentPipeline(pipeline, versions.get(pipeline.pk)) for pipeline in pipelines},
        {connection.name: connection for connection in Connection.objects.filter(workspace=workspace).order_by("name")},
        # a pipeline that another project has archived belongs to no project and may be restored
        {record.slug: record for record in applied if record.project == project or record.removed_at is not None},
        {record.name: record for record in declared if record.project == project},
        {slug: owner for slug, owner in owners.items() if owner != project},
        sharers,
        _applied_texts(workspace),
    )


def _applied_texts(workspace: Workspace) -> dict[str, str]:
    applied = AppliedPipeline.objects.filter(
        workspace=workspace,
        removed_at=None,
        slug=OuterRef("pipeline__slug"),
        version_number=OuterRef("number"),
        applied_at__gte=OuterRef("created_at"),
    )
    older = PipelineVersion.objects.filter(Exists(applied), workspace=workspace)
    older = older.filter(number__lt=F("pipeline__latest_number"))
    return dict(older.values_list("pipeline__slug", "document"))


def applied_document(state: WorkspaceState, record: AppliedPipeline) -> dict[str, Any]:
    """Return the document of the last apply; empty if its version was deleted with its pipeline."""
    text = state.applied_texts.get(record.slug)
    return without_schema(read_text(text)) if text is not None else {}


def note_pipeline(
    workspace: Workspace, project: str, declared: ProjectPipeline, version: int, user: User | None
) -> None:
    """Record that a version has the content of a manifest. The pipeline belongs to this project from now on."""
    AppliedPipeline.objects.update_or_create(
        workspace=workspace,
        slug=declared.id,
        defaults={
            "project": project,
            "document_hash": saved_hash(declared.document),
            "version_number": version,
            "file": declared.manifest.file,
            "applied_by": user,
            "removed_at": None,
        },
    )


def note_connection(project: str, stored: Connection, fields: Mapping[str, Any], user: User | None) -> None:
    """Record that a connection has the fields that flow.toml declares."""
    AppliedConnection.objects.update_or_create(
        workspace=stored.workspace,
        project=project,
        name=stored.name,
        defaults={"fields": fields, "connection_changed_at": stored.changed_at, "applied_by": user},
    )
