"""Connection tests: the reported facts, and that the password is never among them."""

from __future__ import annotations

import logging
from dataclasses import replace
from urllib.parse import quote, quote_plus

import pytest
from django.db import connection as control

from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection, probe_connection

PASSWORD = "P@ss:w/rd%?"
FORMS = (PASSWORD, quote(PASSWORD), quote(PASSWORD, safe=""), quote_plus(PASSWORD), "P@ss", "w/rd", "P%40ss")


def test_what_was_tried_and_what_the_role_may_do_is_reported(alices, awkward):
    add_connection(alices, "warehouse", awkward)
    reported = probe_connection(alices, "warehouse").last_test

    assert reported["ok"]
    assert reported["tried"].startswith(f"PostgreSQL at {awkward.host}:{awkward.port}, database {awkward.database}")
    assert (reported["canCreateSchema"], reported["isSuperuser"], reported["error"]) == (False, False, None)
    assert reported["serverVersion"][:2].isdigit()
    assert f'GRANT CREATE ON DATABASE "{awkward.database}" TO "{awkward.user}"' in reported["notes"][0]


def test_a_role_that_owns_the_database_gets_no_notes(alices, warehouse):
    owner = ConnectionFields(
        "postgres", warehouse.host, warehouse.port, warehouse.database, warehouse.user, warehouse.password
    )
    add_connection(alices, "warehouse", owner)
    reported = probe_connection(alices, "warehouse").last_test

    assert (reported["canCreateSchema"], reported["notes"]) == (True, [])


WRONG = {
    "host": ({"host": "no-such-host.invalid"}, "target.unreachable"),
    "port": ({"port": 1}, "target.unreachable"),
    "password": ({"user": "flow_admin"}, "target.auth_failed"),
    "database": ({"database": "no_such_database"}, "target.database_unknown"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_part_is_named_and_the_password_appears_nowhere(alices, awkward, caplog, capfd, what):
    change, code = WRONG[what]
    caplog.set_level(logging.DEBUG)
    add_connection(alices, "warehouse", replace(awkward, **change))
    reported = probe_connection(alices, "warehouse").last_test

    with control.cursor() as cursor:
        cursor.execute("SELECT * FROM connections_connection")
        stored = str(cursor.fetchall())
    everything = f"{reported} {stored} {caplog.text} {capfd.readouterr()}"
    assert (reported["ok"], reported["error"]["code"]) == (False, code)
    assert [form for form in FORMS if form in everything] == []
