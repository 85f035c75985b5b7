"""Every page of the URL resolver, with things, without any, and with a database that does not answer: nothing for axe
to find, and every control in its place, at each width and in both themes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import cycle

import pytest
from playwright.sync_api import Page

from executors.model import Connection
from flowapp.embedded.ports import free_port
from tests.browser.looks import Complaints, find_barriers, find_misplaced, show_as
from tests.browser.people import sign_in
from tests.flowapp.web.routes import all_routes

pytestmark = pytest.mark.django_db(transaction=True)
WIDTHS, THEMES = (1280, 768, 390), ("light", "dark")
LOOKS = [(width, colours) for width in WIDTHS for colours in THEMES]
STATES = ("full", "empty", "failed")
NO_PAGES = {
    "start": "leads to the list of pipelines",
    "home:home": "leads to the list of pipelines",
    "accounts:link": "leads elsewhere who has signed in; test_shell.py looks at it",
    "accounts:login": "leads elsewhere who has signed in; test_shell.py looks at it",
    "pipelines:panel": "a part of the editor",
    "pipelines:detect": "a part of the editor",
    "pipelines:streams": "a part of the editor",
    "pipelines:outlook": "a part of the editor",
    "node_previews:look": "a part of the editor",
    "health:widget": "a part of all pages",
    "files:download_unit": "a file",
    "files:download_upload": "a file",
    "runs:log_text": "a file",
    "quarantine:export": "a file",
    "starting:file": "needs a file; test_starting.py looks at it",
    "starting:table": "needs a table; test_starting.py looks at it",
}
"""Routes that are no page, or that other tests check, with the reason."""
TABS = ("json", "sql", "lineage", "runs", "errors", "schedule", "history")
POST_ONLY = 405


@pytest.fixture
def state(request: pytest.FixtureRequest, page: Page, warehouse: Connection) -> dict[str, object]:
    """Sign in to a workspace in the state that the test names; return its objects by the names of URL arguments."""
    from flowapp.accounts.models import User
    from flowapp.accounts.services import ensure_workspace
    from flowapp.connections.fields import ConnectionFields
    from tests.flowapp.web.things import make_things

    sign_in(page)
    things: dict[str, object] = {"workspace": "alices-team"}
    if request.param == "empty":
        return things
    to = warehouse if request.param == "full" else replace(warehouse, port=free_port())
    fields = ConnectionFields("postgres", to.host, to.port, to.database, to.user, to.password)
    person = {"admin": User.objects.get(email="admin@example.com")}
    return things | make_things(ensure_workspace("alices-team"), person.__getitem__, fields)


def addresses(things: dict[str, object]) -> Iterator[str]:
    """The pages that these things have."""
    for route in all_routes():
        own = {**things, "name": "hooks"} if route.name == "docs" else things
        if not route.is_api and route.name not in NO_PAGES and route.arguments.keys() <= own.keys():
            yield route.url_of(own)
        if route.name == "pipelines:edit" and "slug" in things:
            yield from (f"{route.url_of(things)}?tab={tab}" for tab in TABS)
            yield f"{route.url_of(things)}?node=load"


def find_faults(page: Page, looks: Iterable[tuple[str, tuple[int, str]]]) -> list[str]:
    """Return the problems of pages, each with its URL, its width and its theme."""
    complaints, faults = Complaints(page), []
    for address, (width, colours) in looks:
        show_as(page, colours, width)
        answer = page.goto(address)
        if answer is None or answer.status == POST_ONLY:
            continue
        found = [*find_barriers(page), *find_misplaced(page)]
        faults += [f"{address} {width} {colours}: {fault}" for fault in found]
    # The browser reports the error status of such a page.
    return faults + [complaint for complaint in complaints if "Failed to load resource" not in complaint]


@pytest.mark.parametrize("state", ["full", pytest.param("empty", marks=pytest.mark.slow)], indirect=True)
def test_no_page_has_a_fault_in_one_of_the_looks(page: Page, state: dict[str, object]) -> None:
    assert find_faults(page, zip(addresses(state), cycle(LOOKS))) == []


@pytest.mark.slow
@pytest.mark.parametrize("colours", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("state", STATES, indirect=True)
def test_no_page_has_a_fault_in_any_look(page: Page, state: dict[str, object], width: int, colours: str) -> None:
    assert find_faults(page, ((address, (width, colours)) for address in addresses(state))) == []


def test_every_exception_is_a_route() -> None:
    assert NO_PAGES.keys() <= {route.name for route in all_routes()}
