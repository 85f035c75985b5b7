"""Query permissions of connections: set by page, API and service, and their effect."""

from __future__ import annotations

import json

import pytest

from flowapp.accounts.services import ensure_workspace
from flowapp.connections.allowing import allow, allowances_of
from flowapp.connections.fields import ConnectionFields, InvalidConnection
from flowapp.connections.selectors import get_connection
from flowapp.connections.serializers import ConnectionSerializer
from flowapp.connections.services import add_connection, probe_connection, resolve
from flowapp.connections.webhook_fields import WebhookFields
from flowapp.pipelines.checking import check_text
from flowapp.pipelines.services import save_version
from ir import InvalidPipeline
from tests.databases import connect_to
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
FIELDS = ConnectionFields("postgres", "db.example", 5432, "sales", "etl", "x")
PAGE = "/w/alices-team/connections/named/shop/"


@pytest.fixture
def shop(workspace):
    return add_connection(workspace, "shop", FIELDS)


def document(query: str) -> str:
    source = {"id": "in", "kind": "source", "connector": "postgres", "connection": "shop", "config": {"query": query}}
    target = {
        "id": "out",
        "kind": "target",
        "inputs": ["in"],
        "connector": "postgres",
        "connection": "shop",
        "schema": "public",
        "table": "t",
        "loadMode": "append",
        "emptyAsNull": False,
    }
    return json.dumps({"kind": "pipeline", "version": "1.0", "id": "p", "nodes": [source, target]})


CALLS = document("SELECT public.similarity(a, b) AS a FROM public.t")


def codes(workspace, text: str) -> list[str]:
    return [diagnostic.code for diagnostic in check_text(workspace, text).errors]


def test_a_new_connection_allows_nothing(workspace, shop):
    reported = ConnectionSerializer(shop).data
    assert (reported["allowedFunctions"], reported["allowsServerRights"]) == ([], False)
    assert (resolve(shop).allowed_functions, resolve(shop).allows_server_rights) == ((), False)


def test_an_editor_is_informed_at_save_until_an_admin_allows_the_function(workspace, shop):
    assert codes(workspace, CALLS) == ["query.function_not_allowed"]
    with pytest.raises(InvalidPipeline):
        save_version(workspace, CALLS)

    allow(workspace, "shop", functions=["public.similarity"])
    assert codes(workspace, CALLS) == []
    assert save_version(workspace, CALLS).number == 1
    assert resolve(get_connection(workspace, "shop")).allowed_functions == ("public.similarity",)


def test_functions_of_postgresql_that_do_more_cannot_be_allowed(workspace, shop):
    for name in ("pg_catalog.query_to_xml", "flow_meta.f"):
        with pytest.raises(InvalidConnection, match=r"cannot be allowed"):
            allow(workspace, "shop", functions=[name])
    assert codes(workspace, document("SELECT query_to_xml('SELECT 1', true, true, '')")) == ["query.not_allowed"]


@pytest.mark.parametrize("name", ["similarity", "", "a.b.c", "public.", "x" * 400])
def test_what_names_no_function_is_refused(workspace, shop, name):
    with pytest.raises(InvalidConnection, match=r"schema.function|cannot be allowed"):
        allow(workspace, "shop", functions=[name])


def test_a_webhook_runs_no_queries(workspace):
    add_connection(workspace, "pager", WebhookFields("https://hooks.example/x"))
    with pytest.raises(InvalidConnection, match="No query runs"):
        allow(workspace, "pager", functions=[])


def test_another_workspace_is_not_touched(workspace, shop):
    other = ensure_workspace("others")
    add_connection(other, "shop", FIELDS)
    allow(workspace, "shop", functions=["public.f"], server_rights=True)
    assert allowances_of(other)["shop"].functions == frozenset()


def test_admins_change_it_on_the_page_and_others_read_it(workspace, shop, as_):
    given = {"functions": "public.similarity\r\n\r\n public.unaccent \r\n", "server_rights": "on"}
    assert as_("editor").post(f"{PAGE}allow/", given).status_code == 403
    assert as_("admin").post(f"{PAGE}allow/", given)["Location"] == PAGE

    shop.refresh_from_db()
    assert shop.settings == {"allowedFunctions": ["public.similarity", "public.unaccent"], "allowsServerRights": True}
    assert "public.similarity, public.unaccent" in words(as_("viewer").get(PAGE))
    assert "public.unaccent</textarea>" in as_("admin").get(PAGE).content.decode()


def test_a_mistake_on_the_page_is_reported_beside_the_field(workspace, shop, as_):
    answer = as_("admin").post(f"{PAGE}allow/", {"functions": "similarity"})
    assert answer.status_code == 422
    assert "is not a function as schema.function" in words(answer)


@pytest.mark.parametrize(("role", "status"), [("viewer", 403), ("editor", 403), ("admin", 200)])
def test_the_api_lets_admins_change_it(workspace, shop, as_, role, status):
    def patch(**given):
        return as_(role).patch(
            "/api/connections/shop/",
            given,
            headers={"X-Flow-Workspace": "alices-team"},
            content_type="application/json",
        )

    assert patch(allowedFunctions=["public.f"]).status_code == status
    if status == 200:
        reported = patch(allowsServerRights=True).json()
        assert (reported["allowedFunctions"], reported["allowsServerRights"]) == (["public.f"], True)
        assert patch(allowedFunctions=["f"]).status_code == 422


def test_the_test_of_a_connection_reports_a_role_s_rights_over_the_server(alices, awkward, server):
    """And from then on so does the editor."""
    add_connection(alices, "shop", awkward)
    plain = document("SELECT 1 AS a")
    assert probe_connection(alices, "shop").last_test["serverRights"] == []
    assert codes(alices, plain) == []

    with connect_to(server) as admin:
        if admin.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() != (True,):
            pytest.skip("only a superuser may grant this, and the server's user is none")
        admin.execute(f"GRANT pg_execute_server_program, pg_read_server_files TO {awkward.user}")
    reported = probe_connection(alices, "shop").last_test
    assert reported["serverRights"] == ["pg_execute_server_program", "pg_read_server_files"]
    assert "can run programs on the database server and can read files on the database server" in reported["notes"][-1]
    assert codes(alices, plain) == ["query.role_not_allowed"]

    allow(alices, "shop", server_rights=True)
    assert codes(alices, plain) == []
    assert "An admin has allowed" in probe_connection(alices, "shop").last_test["notes"][-1]
