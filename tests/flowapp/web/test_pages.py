"""Behaviour that all pages share: fragments, errors, the search, headers and static files."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from flowapp.accounts.models import Membership, Workspace
from flowapp.accounts.services import add_member, ensure_workspace
from flowapp.pipelines.models import Pipeline
from flowapp.web.navigation import ACTIONS, ENTRIES

pytestmark = pytest.mark.django_db

SEARCH = "/w/alices-team/search/"
HTMX = {"HX-Request": "true"}


@pytest.fixture
def viewer(as_):
    return as_("viewer")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.label)
def test_every_entry_of_the_menu_opens_for_its_role_and_is_marked_there(as_, entry):
    address = reverse(entry.url, args=["alices-team"])
    page = as_(entry.role).get(address).content.decode()

    assert re.search(rf'href="{address}"\s+aria-current="page"', page)
    assert page.count('aria-current="page"') >= 1


def test_the_menu_of_a_viewer_has_no_page_of_higher_roles(viewer):
    page = viewer.get("/w/alices-team/runs/").content.decode()

    assert reverse("manifests:home", args=["alices-team"]) not in page


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.label)
def test_no_page_holds_a_script_or_style_of_its_own(as_, entry):
    """The content security policy would refuse them: the page would pass in a test and be broken in a browser."""
    page = as_("admin").get(reverse(entry.url, args=["alices-team"])).content.decode()

    assert not re.findall(r"<script(?![^>]*\b(?:src=|type=\"application/json\"))[^>]*>", page)
    assert not re.findall(r"<[^>]*\s(?:style|on[a-z]+)=", page)
    assert "<style" not in page


def test_the_policy_allows_our_own_files_alone(viewer):
    policy = viewer.get("/w/alices-team/runs/")["Content-Security-Policy"]

    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_only_members_workspaces_are_in_the_switcher(as_, person):
    person("stranger")
    page = as_("viewer").get("/w/alices-team/runs/").content.decode()

    assert "bobs-team" not in page


def test_the_switcher_leads_to_all_workspaces(viewer):
    switcher = viewer.get("/w/alices-team/runs/").content.decode().split('class="dropdown w-100 switcher"')[1]

    assert 'href="/workspaces/">All workspaces' in switcher.split("</ul>")[0]


def test_the_start_is_the_choice_among_several_workspaces(as_, person):
    from flowapp.accounts.services import add_member, ensure_workspace

    add_member(ensure_workspace("carols-team"), person("viewer").email, "viewer")
    page = as_("viewer").get("/", follow=True).content.decode()

    assert "/w/alices-team/pipelines/" in page
    assert "/w/carols-team/pipelines/" in page


def test_a_user_without_a_workspace_learns_what_to_do(client):
    from flowapp.accounts.models import User

    client.force_login(User.objects.create_user("dora@example.com"))

    assert "flow user add dora@example.com" in client.get("/", follow=True).content.decode()


def test_a_fragment_is_part_of_the_page_and_caches_keep_both_responses_apart(viewer):
    whole, part = viewer.get(SEARCH), viewer.get(SEARCH, headers=HTMX)

    assert "<html" in whole.content.decode()
    assert "<html" not in part.content.decode()
    assert part.content.decode().strip() in whole.content.decode()
    assert "HX-Request" in whole["Vary"]
    assert "HX-Request" in part["Vary"]


def test_going_back_in_the_history_brings_the_whole_page(viewer):
    answer = viewer.get(SEARCH, headers={**HTMX, "HX-History-Restore-Request": "true"})

    assert "<html" in answer.content.decode()


def test_an_unknown_address_is_reported_with_an_id_that_the_log_holds(viewer, caplog):
    caplog.set_level("INFO")
    answer = viewer.get("/nowhere/")
    [error_id] = re.findall(r"Error id: <code>(\w+)</code>", answer.content.decode())

    assert answer.status_code == 404
    assert error_id in caplog.text


@pytest.mark.parametrize(
    ("came_from", "is_led_back"),
    [
        ("http://testserver/w/alices-team/errors/purge/?pipeline=numbers", True),
        ("https://elsewhere.example/", False),
    ],
)
def test_a_form_that_is_refused_leads_back_to_its_page(as_, came_from, is_led_back):
    page = as_("admin").post("/w/alices-team/errors/purge/", {}, headers={"Referer": came_from})

    assert page.status_code == 422
    assert (f'href="{came_from}"' in page.content.decode()) == is_led_back


def test_an_error_of_a_fragment_is_shown_in_the_messages_without_changing_the_page(viewer):
    answer = viewer.get("/w/bobs-team/runs/", headers=HTMX)

    assert answer.status_code == 404
    assert answer["HX-Retarget"] == "#messages"
    assert "<html" not in answer.content.decode()


def test_what_is_missing_looks_like_what_belongs_to_others(viewer, workspace, person):
    from flowapp.accounts.services import ensure_workspace

    Pipeline.objects.create(workspace=ensure_workspace("bobs-team"), slug="theirs")
    theirs = viewer.get("/w/alices-team/pipelines/theirs/")
    missing = viewer.get("/w/alices-team/pipelines/absent/")

    assert theirs.status_code == missing.status_code == 404


def test_an_old_form_says_that_nothing_was_changed(person):
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/login/", {"email": "a@example.com", "password": "x"})

    assert answer.status_code == 403
    assert "Nothing was changed" in answer.content.decode()


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_fault_of_our_own_shows_an_id_and_nothing_of_the_fault(viewer, monkeypatch, caplog, headers):
    def fail(*args):
        raise RuntimeError("secretword")

    monkeypatch.setattr("flowapp.home.views.find", fail)
    viewer.raise_request_exception = False
    answer = viewer.get(SEARCH, headers=headers)
    [error_id] = re.findall(r"Error id: <code>(\w+)</code>", answer.content.decode())

    assert answer.status_code == 500
    assert error_id in caplog.text
    assert "secretword" not in answer.content.decode()


@pytest.mark.parametrize(
    ("words", "found"), [("run", "/runs/"), ("RUNS", "/runs/"), ("set pass", "/password/"), ("backup", "/backups/")]
)
def test_the_search_finds_pages_and_actions(viewer, words, found):
    assert f"{found}" in hits(viewer, words)


def hits(client, words: str) -> str:
    return client.get(SEARCH, {"q": words}, headers=HTMX).content.decode()


def test_the_search_finds_pipelines_of_this_workspace_by_id_and_name(viewer, workspace, person):
    from flowapp.accounts.services import ensure_workspace

    Pipeline.objects.create(workspace=workspace, slug="nyc-flights", name="Flights of New York")
    Pipeline.objects.create(workspace=ensure_workspace("bobs-team"), slug="nyc-taxis", name="Taxis")

    for words in ("nyc", "flights york"):
        assert "/w/alices-team/pipelines/nyc-flights/" in hits(viewer, words)
    assert "taxis" not in hits(viewer, "nyc")


def test_the_search_links_to_the_trace_page_of_a_pipeline(as_, workspace):
    Pipeline.objects.create(workspace=workspace, slug="nyc-flights", name="Flights of New York", latest_number=1)
    Pipeline.objects.create(workspace=workspace, slug="nyc-drafts", name="Never saved")
    trace = "/w/alices-team/trace/nyc-flights/"

    for words in ("nyc", "where did my row go flights", "row go? york", "WHERE NYC"):
        assert trace in hits(as_("editor"), words)
        assert trace not in hits(as_("viewer"), words)
    for words in ("", "row", "where did my row go?"):
        assert "/w/alices-team/trace/" in hits(as_("editor"), words)
        assert trace not in hits(as_("editor"), words)
    assert "/trace/nyc-drafts/" not in hits(as_("editor"), "nyc")


def test_the_search_offers_what_the_role_may_do(as_):
    admins = [action.label for action in ACTIONS if action.role == "admin"]

    assert all(label in hits(as_("admin"), "") for label in admins)
    assert not any(label in hits(as_("editor"), "") for label in admins)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.label)
def test_every_action_opens_for_the_lowest_role_that_is_offered_it(as_, action):
    assert as_(action.role).get(action.address("alices-team")).status_code == 200


def test_the_search_shows_what_was_typed_as_text(viewer):
    assert "<script>" not in hits(viewer, "<script>alert(1)</script>")


def test_static_files_are_cached_because_their_urls_change_with_them(viewer):
    page = viewer.get("/w/alices-team/runs/").content.decode()
    address = re.search(r'"(/static/app\.css\?v=\w+)"', page)[1]
    answer = viewer.get(address, headers={"Accept-Encoding": "gzip"})

    assert answer.status_code == 200
    assert "max-age=31536000" in answer["Cache-Control"]
    assert answer["Content-Encoding"] == "gzip"


@pytest.fixture
def operator(client):
    """An admin of the workspace that the installation began with."""
    member = add_member(ensure_workspace("default"), "olga@example.com", "admin")
    client.force_login(member.user)
    return client


def test_an_admin_of_the_installation_makes_a_workspace_and_is_its_admin(operator):
    answer = operator.post("/workspaces/", {"slug": "sales"}, follow=True)

    assert answer.redirect_chain[-1][0] == "/w/sales/pipelines/"
    assert Membership.objects.get(workspace__slug="sales").role == "admin"


@pytest.mark.parametrize(("slug", "why"), [("default", "already"), ("Sales!", "is not a valid name"), ("", "required")])
def test_a_workspace_that_cannot_be_is_reported(operator, slug, why):
    answer = operator.post("/workspaces/", {"slug": slug})

    assert answer.status_code == 422
    assert why in answer.content.decode()
    assert Workspace.objects.count() == 1


def test_nobody_else_makes_workspaces(as_):
    admin = as_("admin")

    assert "New workspace" not in admin.get("/workspaces/").content.decode()
    assert admin.post("/workspaces/", {"slug": "sales"}).status_code == 403
    assert not Workspace.objects.filter(slug="sales").exists()
