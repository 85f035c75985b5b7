"""`flow user` and `flow token`."""

from __future__ import annotations

import pytest

from flowapp.accounts.selectors import get_token
from flowapp.accounts.services import add_member, set_password, use_login_link

pytestmark = pytest.mark.django_db


def test_a_person_is_added_and_signs_in_by_the_printed_link(flow):
    assert flow("user", "add", "alice@example.com", "--role", "admin").status == 0
    link = flow("user", "link", "alice@example.com", "--json").json

    assert use_login_link(link["url"].rstrip("/").rsplit("/", 1)[1]).email == "alice@example.com"
    assert link["expiresAt"].endswith("Z")


def test_adding_a_member_reports_the_ended_credentials(flow, workspace):
    set_password(add_member(workspace, "alice@example.com", "viewer").user, "correct horse battery")
    added = flow("user", "add", "alice@example.com", "--role", "viewer", "--json").json
    again = flow("user", "add", "alice@example.com", "--role", "viewer", "--json").json

    assert added["endedCredentials"] == {"password": True, "sessions": False, "links": 0, "tokens": 0}
    assert again["endedCredentials"] is None


def test_an_unknown_role_ends_in_1_and_names_the_roles(flow):
    finished = flow("user", "add", "alice@example.com", "--role", "owner")

    assert finished.status == 1
    assert "viewer, editor, admin" in finished.stderr


def test_a_token_is_printed_once_and_works(flow):
    first = flow("token", "add", "ci", "--role", "editor", "--days", "3", "--json").json
    again = flow("token", "add", "ci", "--role", "editor")

    assert get_token(first["token"]).role == "editor"
    assert (again.status, first["token"] in again.stderr + again.stdout) == (1, False)


def test_another_workspace_must_be_there(flow, settings):
    settings.FLOW_WORKSPACE = "sales"

    finished = flow("token", "add", "ci", "--role", "editor")
    assert (finished.status, "workspace.unknown" in finished.stderr) == (1, True)
