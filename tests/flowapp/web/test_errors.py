"""Errors as answers, without a database."""

from __future__ import annotations

import psycopg
import pytest
from django.db import DataError
from django.test import RequestFactory
from psycopg import sql
from rest_framework.request import Request

from executors.errors import Terminal
from flowapp.api.problems import handle_exception
from flowapp.web.errors import unstorable_refused

REQUESTS = RequestFactory()
REFUSED = DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")


@pytest.mark.parametrize(
    "request_",
    [
        REQUESTS.get("/", {"pipeline": "a\0"}),
        REQUESTS.get("/a%00/"),
        REQUESTS.post("/", {"reason": "\0"}),
        REQUESTS.post("/", {"cell|\0": "1"}),
    ],
)
def test_a_nul_character_in_a_request_is_a_client_error(request_):
    for error in (REFUSED, Terminal("target.driver_failed", "The database driver failed: DataError.")):
        found = unstorable_refused(request_, error)
        assert found is not None
        assert found.code == "request.nul"
        answer = handle_exception(error, {"request": Request(request_)})
        assert answer is not None
        assert answer.status_code == 400


def test_that_is_how_the_driver_refuses_it():
    with pytest.raises(psycopg.DataError):
        sql.Literal("a\0").as_string()


def test_other_errors_stay_what_they_are():
    assert unstorable_refused(REQUESTS.get("/", {"pipeline": "a"}), REFUSED) is None
    assert unstorable_refused(REQUESTS.get("/", {"pipeline": "a\0"}), Terminal("pipeline.unknown", "None.")) is None
    assert unstorable_refused(REQUESTS.get("/", {"pipeline": "a\0"}), ValueError("other")) is None
