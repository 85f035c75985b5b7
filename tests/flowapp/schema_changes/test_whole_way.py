"""The whole way with the real engine: a run is refused, a person accepts, the next run applies, the log shows it."""

from __future__ import annotations

import pytest

from flowapp.runs.dispatch import run_inline
from flowapp.runs.models import State
from flowapp.schema_changes.models import ColumnChange
from flowapp.schema_changes.services import accept_changes, open_changes
from tests.flowapp.conftest import make_document

from .conftest import alerts, states

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]


@pytest.mark.parametrize("policy", ["ask", pytest.param("freeze", marks=pytest.mark.slow)])
def test_a_new_column_is_asked_about_accepted_and_applied(settings, tmp_path, save, schema, sql, policy):
    settings.FILES_ROOT = tmp_path
    nodes = make_document(schema=schema)["nodes"]
    nodes[0]["schemaPolicy"] = policy
    pipeline = save(nodes=nodes).pipeline
    folder = tmp_path / pipeline.workspace.slug / "in"
    folder.mkdir(parents=True)
    sql("create table numbers (id int)")
    (folder / "a.csv").write_text("id,extra\n1,x\n")

    refused = run_inline(pipeline)
    assert (refused.state, states(), alerts()) == (State.FAILED, {"add": "pending"}, ["open"])
    assert sql("select count(*) from numbers") == [(0,)]

    accept_changes(open_changes(pipeline), "ann@example.com", reason="agreed")
    run = run_inline(pipeline)
    assert run.state == State.SUCCEEDED_WITH_WARNINGS
    assert sql("select id, extra from numbers") == [(1, "x")]
    (change,) = ColumnChange.objects.all()
    assert (change.state, change.run, change.decided_as, change.reason) == ("applied", run, "ann@example.com", "agreed")
    assert alerts() == ["resolved"]
