"""`flow demo`: a pipeline over real data, loaded and run once."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.outcome import Outcome, show_lines
from flowapp.cli.parser import add_command
from flowapp.runs.cli.progress import shown_run
from flowapp.runs.cli.run import ended

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace
    from flowapp.pipelines.models import Pipeline
    from flowapp.runs.models import Run


def add_parser(commands: Any) -> None:
    add_command(commands, "demo", run_demo, "load the demo into the workspace and run it once")


def run_demo(args: Namespace) -> Outcome:
    from flowapp.accounts.services import make_first_link
    from flowapp.demo.load import find_result, load_demo, run_missing

    workspace = current_workspace()
    embedded = "postgres" in args.services.addresses.ports
    pipelines = load_demo(workspace, args.services.addresses if embedded else None)
    seen_before = all(find_result(pipeline) for pipeline in pipelines)
    outcome = ended(run_missing(pipelines, _run))
    where = list(_where_to_find(workspace, embedded))
    link = make_first_link(workspace) if outcome.status == 0 else None

    def show(console: Console) -> None:
        if seen_before:
            show_lines(console, ["The demo has already run. This is its last result.", ""])
        outcome.show(console)
        if outcome.status == 0:
            show_lines(console, ["", "Where to find it:", *where, "", *_next_steps(link)])

    return Outcome(outcome.document, show, outcome.status)


def _run(pipeline: Pipeline) -> Run:
    from flowapp.runs.dispatch import run_inline

    with shown_run(pipeline.slug) as shown:
        return run_inline(pipeline, engine=shown.engine)


def _next_steps(link: str | None) -> Iterator[str]:
    """Yield the next steps in a browser. `link` signs in the first admin; None once anybody has signed in."""
    from django.conf import settings

    yield "In the browser:"
    yield "  start it        make up   (or: flow up)"
    yield f"  address         {settings.FLOW_PUBLIC_URL}   (or what `flow up` prints, when that port is taken)"
    if link:
        yield f"  sign in, once   {link}"


def _where_to_find(workspace: Workspace, embedded: bool) -> Iterator[str]:
    from django.conf import settings

    from flowapp.connections.embedded import NAME as CONNECTION
    from flowapp.connections.selectors import get_connection
    from flowapp.embedded.warehouses import PASSWORDS

    warehouse = get_connection(workspace, CONNECTION)
    yield "  loaded rows     table public.flights, rejected rows in dlq.flights"
    psql = f"psql -h {warehouse.host} -p {warehouse.port} -U {warehouse.user} {warehouse.database}"
    if embedded:
        yield "                  while `flow up` runs:"
        psql = f"PGPASSFILE={settings.FLOW_HOME / PASSWORDS} {psql}"
    yield f"                  {psql}"
    yield "  rejected rows   flow errors list --pipeline nyc-flights"
    yield "  the pipeline    flow pipeline show nyc-flights"
    yield f"  source files    {settings.FILES_ROOT / workspace.slug}"
    yield "  run it again    flow run nyc-flights --load-again --reason 'trying it out'"
