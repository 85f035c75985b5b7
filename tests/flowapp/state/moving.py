"""Pipelines that move to another installation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.flowapp.quarantine.keeping import connect_to

if TYPE_CHECKING:
    from executors.model import Connection
    from flowapp.pipelines.models import Pipeline
    from flowapp.state.importing import Imported


def move(pipeline: Pipeline, file: Path, warehouse: Connection, change: tuple[str, str] = ("\n", "\n")) -> Pipeline:
    """Export, then start with an empty control database and the same connections and documents. `change` replaces text
    in the documents."""
    from flowapp.accounts.models import Workspace
    from flowapp.pipelines.models import Pipeline
    from flowapp.pipelines.services import save_version
    from flowapp.runs.load_units.models import LoadUnit
    from flowapp.runs.models import CommitRecord, NodeRun, RuleCount, Run
    from flowapp.state.exporting import export_state

    document = pipeline.versions.get().document.replace(*change)
    export_state(pipeline.workspace, [pipeline], file)
    for model in (CommitRecord, NodeRun, RuleCount, LoadUnit, Run):
        model.objects.all().delete()
    Pipeline.objects.all().delete()
    pipeline.workspace.connections.all().delete()
    Workspace.objects.filter(pk=pipeline.workspace_id).delete()
    workspace = connect_to(Workspace.objects.create(slug="alices-team"), warehouse)
    return save_version(workspace, document).pipeline


def totals(done: list[Imported]) -> list[tuple[int, int, int, int]]:
    assert [one.error for one in done] == [None]
    return [(one.runs, one.files, one.load_records, one.watermarks) for one in done]
