"""Load the demo: its files, a connection to the warehouse, and its two pipelines."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

from django.conf import settings

from flowapp.accounts.models import Workspace
from flowapp.connections.embedded import NAME as CONNECTION
from flowapp.connections.embedded import use_warehouse
from flowapp.connections.models import Connection
from flowapp.demo.files import place_files
from flowapp.embedded.services import ServiceAddresses
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import save_version
from flowapp.runs.models import LOADED, LOADS, Run
from ir.errors import FlowError

PIPELINES = ("airlines", "nyc-flights")
"""The order in which they run: flights are validated against airlines."""


def load_demo(workspace: Workspace, server: ServiceAddresses | None) -> list[Pipeline]:
    """Create the demo in the workspace. Existing files, connections and pipelines stay unchanged. Return the pipelines
    in the order in which they run.

    `server` is the embedded server, None if databases are configured elsewhere."""
    place_files(settings.FILES_ROOT / workspace.slug)
    _ensure_connection(workspace, server)
    return [_ensure_pipeline(workspace, name) for name in PIPELINES]


def find_result(pipeline: Pipeline) -> Run | None:
    """Return the newest run that loaded the pipeline's source, without replays; None if there is none."""
    return Run.objects.filter(pipeline=pipeline, kind__in=LOADS, state__in=LOADED).order_by("-queued_at").first()


def run_missing(pipelines: list[Pipeline], run: Callable[[Pipeline], Run]) -> Run:
    """Run each pipeline without a successful load. Return the last run, or the first run that failed."""
    for pipeline in pipelines:
        result = find_result(pipeline) or run(pipeline)
        if result.state not in LOADED:
            break
    return result


def _ensure_connection(workspace: Workspace, server: ServiceAddresses | None) -> None:
    if Connection.objects.filter(workspace=workspace, name=CONNECTION).exists():
        return
    if server is None:
        raise FlowError(
            "demo.warehouse_missing",
            f"The demo needs a connection {CONNECTION!r}, which does not exist.",
            hint=f"The databases are configured elsewhere, so add a connection: flow connection add {CONNECTION} "
            "--url postgresql://USER@HOST:PORT/DATABASE --password-stdin",
        )
    use_warehouse(workspace, server)


def _ensure_pipeline(workspace: Workspace, name: str) -> Pipeline:
    """Return the demo pipeline; create it if it does not exist. User changes stay."""
    found = Pipeline.objects.filter(workspace=workspace, slug=name).exclude(latest_number=0).first()
    if found is not None:
        return found
    text = files("flowapp.demo").joinpath(f"{name}.json").read_text()
    return save_version(workspace, text, message="Demo").pipeline
