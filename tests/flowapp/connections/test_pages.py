"""The pages of connections, on which no secret is ever shown."""

from __future__ import annotations

import logging
import os
from dataclasses import replace

import pytest

from executors.errors import Failure
from executors.postgres.client import connect
from flowapp.accounts.services import ensure_workspace
from flowapp.connections.embedded import embedded_server, find_server, use_warehouse
from flowapp.connections.models import Connection
from flowapp.connections.services import add_connection, resolve
from flowapp.embedded.home import Home, load_secrets
from tests.flowapp.reading import HOSTILE, assert_harmless, words

pytestmark = pytest.mark.django_db
CONNECTIONS = "/w/alices-team/connections/"
SECRET = "S3cret-P@ss/word"
FIELDS = {
    "name": "sales",
    "host": "db.example.com",
    "port": "5433",
    "database": "sales",
    "user": "loader",
    "sslmode": "require",
    "password": SECRET,
}


def add(client, **fields: str):
    return client.post(f"{CONNECTIONS}add/postgresql/", {**FIELDS, **fields})


def test_without_connections_the_page_says_what_one_is(workspace, as_):
    assert "No connections yet" in words(as_("viewer").get(CONNECTIONS))
    assert "Add a connection" in words(as_("admin").get(CONNECTIONS))
    assert "Add a connection" not in words(as_("editor").get(CONNECTIONS))


def test_an_admin_chooses_the_kind_of_a_connection(workspace, as_):
    choices = words(as_("admin").get(f"{CONNECTIONS}add/"))
    assert [title for title in ("PostgreSQL", "MySQL or MariaDB", "S3 bucket", "Webhook") if title not in choices] == []
    assert as_("editor").get(f"{CONNECTIONS}add/").status_code == 403


def test_the_form_of_an_untested_kind_says_that_it_is_untested(workspace, as_):
    caution = "This connector has not been tested against a real server."
    assert caution in words(as_("admin").get(f"{CONNECTIONS}add/store/oracle/"))
    assert caution not in words(as_("admin").get(f"{CONNECTIONS}add/store/mysql/"))


def test_an_admin_adds_a_connection_by_fields(workspace, as_):
    answer = add(as_("admin"))
    stored = Connection.objects.get()

    assert answer["Location"] == f"{CONNECTIONS}named/sales/"
    assert (stored.host, stored.port, stored.database, stored.user, stored.sslmode) == (
        "db.example.com",
        5433,
        "sales",
        "loader",
        "require",
    )
    assert SECRET not in stored.secret
    assert resolve(stored).password == SECRET


def test_an_admin_pastes_a_url_and_gives_the_password_apart(workspace, as_):
    client = as_("admin")
    url = "postgresql://loader@db.example.com:5433/sales?sslmode=require"
    client.post(f"{CONNECTIONS}add/postgresql/", {"name": "sales", "url": url, "password": SECRET, "port": "5432"})

    stored = Connection.objects.get()
    assert (stored.host, stored.port, stored.sslmode) == ("db.example.com", 5433, "require")
    assert resolve(stored).password == SECRET


def test_a_password_in_a_url_works_and_is_warned_about(workspace, as_):
    client = as_("admin")
    url = "postgresql://loader:S3cret-P%40ss%2Fword@db.example.com/sales"
    answer = client.post(f"{CONNECTIONS}add/postgresql/", {"name": "sales", "url": url}, follow=True)

    assert "The URL contained a password." in words(answer)
    assert "S3cret" not in answer.content.decode()
    assert resolve(Connection.objects.get()).password == SECRET


@pytest.mark.parametrize(
    ("changes", "reported"),
    [
        ({"name": "Sales!"}, "is not a valid name for a connection"),
        ({"host": ""}, "Enter a value, or paste a URL."),
        ({"host": "a.example.com,b.example.com"}, "a single name or address"),
        ({"host": "/var/run/postgresql"}, "a single name or address"),
        ({"port": "70000"}, "less than or equal to 65535"),
        ({"url": f"postgresql://loader:{SECRET}@db.example.com/sales?service=x"}, "cannot be read"),
        ({"url": "mysql://loader:S3cret-Pass@db.example.com/sales"}, "must begin with postgresql://"),
        ({"url": "postgresql://loader:S3cret-Pass@db.example.com/sales?passfile=x"}, "options that are not allowed"),
    ],
)
def test_an_invalid_connection_is_reported_without_its_secret(workspace, as_, changes, reported, caplog):
    caplog.set_level(logging.DEBUG)
    answer = add(as_("admin"), **changes)

    assert answer.status_code == 422
    assert reported in words(answer)
    assert "S3cret" not in answer.content.decode()
    assert "S3cret" not in caplog.text
    assert not Connection.objects.exists()


def test_a_name_that_is_taken_is_reported_at_its_field(workspace, as_):
    client = as_("admin")
    add(client)

    assert "There is already a connection &#x27;sales&#x27;." in add(client).content.decode()


def test_the_control_database_is_refused(workspace, as_):
    from django.db import connection as control

    own = control.settings_dict
    if control.vendor != "postgresql":
        pytest.skip("the control database is no PostgreSQL")
    answer = add(as_("admin"), host="localhost", port=own["PORT"], database=own["NAME"])

    assert "Flow's control database" in words(answer)


def test_a_test_reports_what_was_tried_and_what_the_role_may_do(workspace, as_, awkward):
    add_connection(workspace, "awkward", awkward)
    client = as_("admin")
    answer = client.post(f"{CONNECTIONS}named/awkward/test/", headers={"HX-Request": "true"})
    text = words(answer)

    assert "<html" not in answer.content.decode()
    assert f"Tried: PostgreSQL at {awkward.host}:{awkward.port}" in text
    assert "May create schemas no" in text
    assert "GRANT CREATE ON DATABASE" in text
    assert "works" in words(client.get(CONNECTIONS))
    assert awkward.password not in answer.content.decode()


def test_a_test_that_fails_reports_why_without_the_password(workspace, as_, awkward):
    add_connection(workspace, "awkward", awkward)
    Connection.objects.update(port=1)
    answer = as_("admin").post(f"{CONNECTIONS}named/awkward/test/", headers={"HX-Request": "true"})

    assert answer.status_code == 200
    assert "fails" in words(answer)
    assert "target.unreachable" in words(answer)
    assert awkward.password not in answer.content.decode()


def test_without_htmx_a_test_leads_back_to_the_page(workspace, as_, awkward):
    add_connection(workspace, "awkward", awkward)

    assert as_("admin").post(f"{CONNECTIONS}named/awkward/test/")["Location"] == f"{CONNECTIONS}named/awkward/"


def test_a_password_is_replaced_and_what_was_tested_before_is_forgotten(workspace, as_):
    client = as_("admin")
    add(client)
    Connection.objects.update(last_test={"ok": True, "at": "2026-01-01T00:00:00+00:00"})
    answer = client.post(f"{CONNECTIONS}named/sales/password/", {"password": " another one "}, follow=True)

    assert resolve(Connection.objects.get()).password == " another one "
    assert "never tested" in words(answer)
    assert "another one" not in answer.content.decode()


def test_removing_names_the_pipelines_that_lose_it_and_asks_first(connected, as_, pipeline):
    client = as_("admin")
    asked = client.get(f"{CONNECTIONS}named/warehouse/remove/")

    assert "1 pipeline uses it" in words(asked)
    assert "/w/alices-team/pipelines/numbers/" in asked.content.decode()
    assert Connection.objects.exists()
    client.post(f"{CONNECTIONS}named/warehouse/remove/")
    assert not Connection.objects.exists()


def test_the_page_of_a_connection_names_its_pipelines_and_shows_no_secret(connected, as_, pipeline):
    page = as_("viewer").get(f"{CONNECTIONS}named/warehouse/")

    assert "Used by numbers" in words(page)
    assert "Password stored, encrypted" in words(page)
    assert Connection.objects.get().secret not in page.content.decode()


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_only_admins_change_connections(connected, as_, role):
    client, here = as_(role), f"{CONNECTIONS}named/warehouse/"

    assert client.get(here).status_code == 200
    assert add(client).status_code == 403
    for action in ("test", "password", "remove"):
        assert client.post(f"{here}{action}/", {"password": "x"}).status_code == 403
    assert "Remove warehouse" not in words(client.get(here))


def test_connections_of_another_workspace_are_not_there(connected, as_):
    client, theirs = as_("stranger"), "/w/bobs-team/connections/"

    assert "warehouse" not in words(client.get(theirs))
    for action in ("", "remove/"):
        assert client.get(f"{theirs}named/warehouse/{action}").status_code == 404
    for action in ("test", "password", "remove"):
        assert client.post(f"{theirs}named/warehouse/{action}/", {"password": "x"}).status_code == 404
    assert Connection.objects.exists()


def test_fields_and_reports_do_no_harm(workspace, as_):
    client = as_("admin")
    add(client)
    Connection.objects.update(
        user=HOSTILE[:63],
        database="x",
        last_test={
            "ok": False,
            "at": "2026-01-01T00:00:00+00:00",
            "tried": HOSTILE,
            "error": {"code": "x", "message": HOSTILE, "hint": HOSTILE},
        },
    )
    assert_harmless(client.get(f"{CONNECTIONS}named/sales/"))


def test_a_url_without_a_password_is_shown_again_after_a_fault(workspace, as_):
    client = as_("admin")
    plain = "postgresql://loader@db.example.com/sales"

    assert plain in add(client, name="No!", url=plain).content.decode()
    assert "S3cret" not in add(client, name="No!", url="postgresql://loader:S3cret@db.example.com/x").content.decode()


@pytest.mark.skipif(
    any(os.environ.get(name) for name in ("FLOW_TEST_POSTGRES_URL", "FLOW_TEST_DATABASE_URL")),
    reason="The control database is not the embedded one.",
)
def test_the_database_that_came_along_is_a_connection_by_one_press(workspace, as_):
    admin, viewer = as_("admin"), as_("viewer")
    assert "Use the bundled PostgreSQL" in words(admin.get(CONNECTIONS))
    assert "Use the bundled PostgreSQL" not in words(viewer.get(CONNECTIONS))

    page = admin.post(f"{CONNECTIONS}embedded/", follow=True)
    assert "PostgreSQL 1" in words(page)
    assert "Use the bundled PostgreSQL" not in words(admin.get(f"{CONNECTIONS}add/postgresql/"))
    assert admin.post(f"{CONNECTIONS}embedded/").status_code == 422
    stored = Connection.objects.get()
    assert (stored.database, stored.user) == ("warehouse_alices-team", "warehouse_alices-team")


@pytest.mark.skipif(
    any(os.environ.get(name) for name in ("FLOW_TEST_POSTGRES_URL", "FLOW_TEST_DATABASE_URL")),
    reason="The control database is not the embedded one.",
)
def test_each_workspace_gets_a_database_that_no_other_may_enter(workspace, as_):
    server = embedded_server()
    mine, yours = (resolve(use_warehouse(team, server)) for team in (workspace, ensure_workspace("others")))

    with connect(mine, autocommit=True) as session:
        session.execute("CREATE TABLE public.salaries AS SELECT 1 AS a")
    assert mine.password != yours.password
    with pytest.raises(Failure, match="may not connect"):
        connect(replace(yours, database=mine.database))


def test_a_database_that_is_configured_elsewhere_brings_no_warehouse_along(tmp_path):
    home = Home(tmp_path)
    home.service("postgres").port.write_text("5433")
    load_secrets(home)
    own = {"HOST": "127.0.0.1", "PORT": 5433, "USER": "flow_control"}

    assert find_server(home, own).ports == {"postgres": 5433}
    for change in ({"HOST": "db"}, {"PORT": 5432}, {"USER": "me"}):
        assert find_server(home, own | change) is None
    assert find_server(Home(tmp_path / "none"), own) is None
