"""The page of the first rows of a loaded table."""

from __future__ import annotations

import pytest

from flowapp.runs.dispatch import run_inline
from tests.flowapp.reading import words
from tests.flowapp.runs.table_engine import TableEngine

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]


@pytest.fixture
def loaded(pipeline, target) -> str:
    """The address of a run that has loaded three rows."""
    return f"/w/alices-team/runs/{run_inline(pipeline, engine=TableEngine()).pk}/"


def test_an_editor_sees_the_rows_of_a_loaded_table(as_, loaded, schema):
    client = as_("editor")

    assert f"{loaded}tables/load/" in client.get(loaded).content.decode()
    page = client.get(f"{loaded}tables/load/")
    assert "All 3 rows of the table. id 1 2 3" in words(page)
    assert "no-store" in page["Cache-Control"]


def test_a_viewer_sees_the_name_of_the_table_and_no_rows(as_, loaded, schema):
    client = as_("viewer")

    page = client.get(loaded)
    assert f"Loaded into {schema}.numbers" in words(page)
    assert f"{loaded}tables/" not in page.content.decode()
    assert client.get(f"{loaded}tables/load/").status_code == 403


def test_a_node_that_was_not_loaded_has_no_table(as_, loaded):
    answer = as_("editor").get(f"{loaded}tables/files/")

    assert answer.status_code == 404
    assert "has loaded nothing into" in words(answer)


def test_a_server_that_does_not_answer_is_an_error_on_the_page(as_, loaded, workspace):
    from flowapp.connections.models import Connection

    Connection.objects.filter(workspace=workspace).update(port=1)
    answer = as_("editor").get(f"{loaded}tables/load/")

    assert answer.status_code == 503
    assert "The rows cannot be shown" in words(answer)
