"""Connections by the API."""

from __future__ import annotations

import pytest

from flowapp.connections.models import Connection
from flowapp.connections.services import add_connection, resolve

pytestmark = pytest.mark.django_db
FIELDS = {"name": "sales", "host": "db.example.com", "database": "sales", "user": "loader", "password": "S3cret-Pass"}


@pytest.fixture
def api(as_):
    def ask(role: str, method: str, path: str = "connections/", data=None):
        more = {} if method == "get" else {"content_type": "application/json"}
        return getattr(as_(role), method)(
            f"/api/{path}", data or {}, headers={"X-Flow-Workspace": "alices-team"}, **more
        )

    return ask


def test_a_connection_is_added_by_fields_and_its_secret_never_reported(workspace, api):
    answer = api("admin", "post", data=FIELDS)

    assert answer.status_code == 201
    assert (answer.json()["host"], answer.json()["hasPassword"], answer.json()["warnings"]) == (
        "db.example.com",
        True,
        [],
    )
    assert resolve(Connection.objects.get()).password == "S3cret-Pass"
    for reported in (answer, api("viewer", "get")):
        assert "S3cret" not in reported.content.decode()


def test_a_password_in_a_url_is_warned_about(workspace, api):
    url = "postgresql://loader:S3cret-Pass@db.example.com/sales"
    answer = api("admin", "post", data={"name": "sales", "url": url})

    assert "The URL contained a password" in answer.json()["warnings"][0]
    assert resolve(Connection.objects.get()).password == "S3cret-Pass"


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"host": "a,b"}, 422),
        ({"port": 0}, 400),
        ({"sslmode": "maybe"}, 400),
        ({"name": "No!"}, 422),
        ({"url": "postgresql://loader:S3cret-Pass@h/d?options=x"}, 422),
    ],
)
def test_what_cannot_be_a_connection_is_refused_without_repeating_a_secret(workspace, api, changes, status):
    answer = api("admin", "post", data={**FIELDS, **changes})

    assert answer.status_code == status
    assert "S3cret" not in answer.content.decode()
    assert not Connection.objects.exists()


def test_missing_fields_are_named(workspace, api):
    assert {"host", "user"} <= api("admin", "post", data={"name": "sales", "database": "x"}).json()["fields"].keys()


def test_a_name_that_is_taken_is_a_conflict(workspace, api):
    api("admin", "post", data=FIELDS)

    assert api("admin", "post", data=FIELDS).status_code == 409


def test_a_test_reports_what_it_found(workspace, api, awkward):
    add_connection(workspace, "awkward", awkward)
    answer = api("admin", "post", "connections/awkward/test/")

    assert (answer.json()["lastTest"]["ok"], answer.json()["lastTest"]["canCreateSchema"]) == (True, False)
    assert awkward.password not in answer.content.decode()
    assert api("admin", "post", "connections/unknown/test/").status_code == 404


def test_only_admins_add_and_test(workspace, api, awkward):
    add_connection(workspace, "awkward", awkward)

    assert api("editor", "post", data=FIELDS).status_code == 403
    assert api("editor", "post", "connections/awkward/test/").status_code == 403
