"""No request makes the web process fail, or work for long: every route, every parameter, hostile values."""

from __future__ import annotations

import os
import random
import time

import pytest

from flowapp.connections.fields import ConnectionFields
from tests.flowapp.web import fuzzing
from tests.flowapp.web.fuzzing import Fuzzer, Heard
from tests.flowapp.web.routes import all_routes
from tests.flowapp.web.things import make_things

pytestmark = pytest.mark.django_db

ROUTES = all_routes()
SEED = int(os.environ.get("FLOW_FUZZ_SEED", "1"))
SHORT_SECONDS, LONG_SECONDS = 10, float(os.environ.get("FLOW_FUZZ_SECONDS", "600"))


@pytest.fixture
def fuzzer(workspace, person, as_, warehouse, monkeypatch, settings):
    """Makes one of a seed, over things whose database answers."""
    settings.MIDDLEWARE = ["tests.flowapp.web.fuzzing.hear", *settings.MIDDLEWARE]
    fields = ConnectionFields(
        "postgres", warehouse.host, warehouse.port, warehouse.database, warehouse.user, warehouse.password
    )
    things = {**make_things(workspace, person, fields), "workspace": workspace.slug}
    heard = Heard()
    fuzzing.declared(heard, ROUTES)
    fuzzing.listen(heard, monkeypatch)
    client = as_("admin")
    client.raise_request_exception = False
    return lambda seed: Fuzzer(client, things, heard, seed)


def try_routes(fuzzer, seed, seconds):
    made, end = fuzzer(seed), time.monotonic() + seconds
    routes = list(ROUTES)
    while time.monotonic() < end and len(made.faults) < 10:
        random.Random(made.asked + seed).shuffle(routes)
        for route in routes:
            made.try_route(route)
    assert not made.faults, f"FLOW_FUZZ_SEED={seed}:\n" + "\n".join(made.faults)
    assert made.asked > len(routes)
    return made


def test_no_request_makes_the_web_process_fail(fuzzer):
    try_routes(fuzzer, SEED, SHORT_SECONDS)


@pytest.mark.slow
def test_no_request_makes_the_web_process_fail_in_a_long_time(fuzzer):
    try_routes(fuzzer, int(os.environ.get("FLOW_FUZZ_SEED") or time.time_ns() % 10**9), LONG_SECONDS)
