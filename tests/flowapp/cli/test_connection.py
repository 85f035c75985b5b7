"""`flow connection`: passwords go in by three ways and come out by none."""

from __future__ import annotations

import io
import sys
from urllib.parse import quote

import pytest

from flowapp.accounts.services import ensure_workspace
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve

pytestmark = pytest.mark.django_db
PASSWORD = "P@ss:w/rd%?"
URL = "postgresql://etl@db.example/sales"


def stored_password() -> str:
    return resolve(get_connection(ensure_workspace("default"), "warehouse")).password


def test_a_password_comes_from_standard_input_without_its_line_end(flow, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(PASSWORD + "\n"))

    assert flow("connection", "add", "warehouse", "--url", URL, "--password-stdin").status == 0
    assert stored_password() == PASSWORD


def test_a_password_comes_from_the_environment(flow, monkeypatch):
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", PASSWORD)

    assert flow("connection", "add", "warehouse", "--url", URL).status == 0
    assert stored_password() == PASSWORD


def test_a_password_in_the_url_works_and_is_warned_about(flow):
    url = f"postgresql://etl:{quote(PASSWORD, safe='')}@db.example/sales"
    finished = flow("connection", "add", "warehouse", "--url", url, "--json")

    assert stored_password() == PASSWORD
    assert "--password-stdin" in finished.stderr
    assert "P@ss" not in finished.stdout + finished.stderr
    assert "P%40ss" not in finished.stdout + finished.stderr


def test_an_empty_standard_input_is_a_usage_error(flow, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))

    assert flow("connection", "add", "warehouse", "--url", URL, "--password-stdin").status == 64


def test_a_list_shows_where_connections_lead_and_never_a_secret(flow, monkeypatch):
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", PASSWORD)
    flow("connection", "add", "warehouse", "--url", URL)
    secret = get_connection(ensure_workspace("default"), "warehouse").secret

    table, document = flow("connection", "list"), flow("connection", "list", "--json")
    assert "db.example:5432/sales" in table.stdout
    assert document.json["connections"][0]["hasPassword"] is True
    assert secret not in table.stdout + document.stdout
    assert "P@ss" not in table.stdout + document.stdout


def test_a_test_of_what_cannot_be_reached_ends_in_1_and_says_what_was_tried(flow, monkeypatch):
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", PASSWORD)
    flow("connection", "add", "warehouse", "--url", "postgresql://etl@127.0.0.1:1/sales")
    finished = flow("connection", "test", "warehouse")

    assert finished.status == 1
    assert "Tried PostgreSQL at 127.0.0.1:1, database sales, as etl" in finished.stdout
    assert "target.unreachable" in finished.stdout
    assert "P@ss" not in finished.stdout + finished.stderr


def test_a_successful_connection_test_exits_with_0(flow, warehouse, monkeypatch):
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", warehouse.password)
    url = f"postgresql://{warehouse.user}@{warehouse.host}:{warehouse.port}/{warehouse.database}"
    flow("connection", "add", "warehouse", "--url", url)
    finished = flow("connection", "test", "warehouse")

    assert finished.status == 0
    assert "The role may create schemas." in finished.stdout


def test_what_is_removed_is_unknown_afterwards(flow):
    flow("connection", "add", "warehouse", "--url", URL)

    assert flow("connection", "remove", "warehouse").status == 0
    finished = flow("connection", "remove", "warehouse", "--json")
    assert (finished.status, finished.json["error"]["code"]) == (1, "connection.unknown")


def test_functions_and_roles_are_allowed_by_name(flow, monkeypatch):
    monkeypatch.setenv("FLOW_CONNECTION_PASSWORD", PASSWORD)
    flow("connection", "add", "warehouse", "--url", URL)
    more = ("--function", "public.f", "--function", "public.g", "--server-rights")
    first = flow("connection", "allow", "warehouse", *more, "--json").json
    assert (first["allowedFunctions"], first["allowsServerRights"]) == (["public.f", "public.g"], True)

    fewer = flow("connection", "allow", "warehouse", "--no-function", "public.f", "--no-server-rights")
    assert "public.g" in fewer.stdout
    assert "may not run as a privileged role" in fewer.stdout
    assert flow("connection", "allow", "warehouse", "--function", "f").status == 1
