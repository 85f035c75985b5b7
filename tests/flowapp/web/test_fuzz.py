"""No request makes the web process fail, or work for long: every route, every parameter, hostile values."""

from __future__ import annotations

import logging
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
LONG_SECONDS = float(os.environ.get("FLOW_FUZZ_SECONDS", "600"))


@pytest.fixture
def quiet():
    """Ten minutes of refused requests would fill the memory with the log that pytest captures."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def fuzzer(workspace, person, as_, warehouse, redis_url, monkeypatch, settings):
    """Makes one of a seed, over things whose database and broker answer."""
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


def try_routes(fuzzer, seed, seconds=0.0):
    """Each route once, then again until the time is over or ten faults are found."""
    made, end = fuzzer(seed), time.monotonic() + seconds
    for tried, route in enumerate(in_random_order(seed)):
        if len(made.faults) == 10 or (tried >= len(ROUTES) and time.monotonic() > end):
            break
        made.try_route(route)
    assert not made.faults, f"FLOW_FUZZ_SEED={seed}:\n" + "\n".join(made.faults)
    assert made.asked > len(ROUTES)


def in_random_order(seed):
    rounds = random.Random(seed)
    while True:
        yield from rounds.sample(ROUTES, len(ROUTES))


def test_no_request_makes_the_web_process_fail(fuzzer):
    try_routes(fuzzer, SEED)


@pytest.mark.slow
def test_no_request_makes_the_web_process_fail_in_a_long_time(fuzzer, quiet):
    try_routes(fuzzer, int(os.environ.get("FLOW_FUZZ_SEED") or time.time_ns() % 10**9), LONG_SECONDS)
