"""A client that is generated from `/api/schema/` speaks to the API."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from flowapp.accounts.models import Workspace
from flowapp.accounts.services import add_member, add_token
from tests.flowapp.described import api_schema

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
NAME = "flow_client_of_test"


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports modules of the client. Fails where the generator warns of anything."""
    schema, config = tmp_path / "schema.json", tmp_path / "config.yml"
    schema.write_text(json.dumps(api_schema()))
    config.write_text("post_hooks: []\n")
    options = ["--path", schema, "--output-path", tmp_path / NAME, "--config", config, "--meta", "none"]
    command = [sys.executable, "-m", "openapi_python_client", "generate", *options, "--fail-on-warning"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda name: importlib.import_module(f"{NAME}.{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def test_a_generated_client_makes_a_pipeline_runs_it_and_pages_errors(
    live_server: Any,
    connected: Workspace,
    document: Callable[..., dict[str, Any]],
    generated: Callable[[str], ModuleType],
) -> None:
    author = add_member(connected, "bob@example.com", "admin").user
    key, _ = add_token(connected, "client", "editor", days=1, created_by=author)
    models, pipelines, runs = generated("models"), "api.pipelines.pipelines_", "api.runs.runs_"
    server = generated("client").AuthenticatedClient(base_url=live_server.url, token=key, prefix="Token")
    with server as client:  # a connection that stayed open would keep the database in use
        given = models.PipelineDocument.from_dict(document())
        checked = generated(f"{pipelines}validate_create").sync(
            client=client, body=models.ValidationRequest(document=given)
        )
        assert (checked.valid, checked.diagnostics) == (True, [])

        made = generated(f"{pipelines}create").sync(client=client, body=models.PipelineRequest(document=given))
        assert (type(made), made.version, made.author) == (models.Version, 1, "bob@example.com")

        queued = generated(f"{pipelines}runs_create").sync("numbers", client=client, body=models.RunRequest())
        read = generated(f"{runs}retrieve").sync(queued.run, client=client)
        assert (read.run, read.pipeline, read.state.value, read.nodes) == (queued.run, "numbers", "queued", [])
        listed = generated(f"{runs}list").sync(client=client, limit=1)
        assert ([run.number for run in listed.results], listed.next_) == ([1], None)

        page = generated("api.errors.errors_list").sync(client=client, limit=1)
        assert (page.results, page.next_, page.partial) == ([], None, False)
        unknown = generated(f"{pipelines}retrieve").sync("nothing", client=client)
        assert (type(unknown), unknown.code, unknown.status) == (models.Problem, "pipeline.unknown", 404)
