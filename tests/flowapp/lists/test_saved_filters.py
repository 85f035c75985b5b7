"""Filters of lists that a user keeps under a name."""

from __future__ import annotations

import pytest

from flowapp.lists import services
from flowapp.lists.models import SavedFilter
from flowapp.lists.services import list_filters, save_filter
from ir.errors import FlowError
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
AT = "/w/alices-team"


def save(client, name="Failed", page="runs", query="state=failed&cursor=abc&since="):
    return client.post(f"{AT}/filters/save/", {"page": page, "name": name, "query": query})


def test_a_filter_is_the_address_of_the_list_without_its_position(as_, workspace):
    client = as_("viewer")
    answer = save(client)

    assert answer["Location"] == f"{AT}/runs/?state=failed"
    page = client.get(answer["Location"])
    assert "Failed" in words(page)
    assert 'href="?state=failed"' in page.content.decode()


def test_a_name_that_is_used_again_replaces_its_filter(as_, workspace):
    client = as_("viewer")
    save(client)
    save(client, query="state=held")

    assert SavedFilter.objects.get().query == "state=held"


@pytest.mark.parametrize(
    ("name", "query"), [("", "a=1"), (" ", "a=1"), ("x" * 61, "a=1"), ("x", "cursor=1"), ("x", "a=" + "b" * 2000)]
)
def test_invalid_filters_are_refused(workspace, person, name, query):
    with pytest.raises(FlowError, match=r"filter\.name_invalid"):
        save_filter(workspace, person("viewer"), "runs", name, query)


def test_the_number_of_filters_is_bounded_for_each_list(workspace, person, monkeypatch):
    monkeypatch.setattr(services, "MOST_FILTERS", 1)
    save_filter(workspace, person("viewer"), "runs", "one", "a=1")
    save_filter(workspace, person("viewer"), "files", "one", "a=1")
    save_filter(workspace, person("viewer"), "runs", "one", "a=2")
    with pytest.raises(FlowError, match=r"filter\.too_many"):
        save_filter(workspace, person("viewer"), "runs", "two", "a=1")


def test_a_filter_belongs_to_one_user(as_, workspace, person):
    save(as_("viewer"))
    saved = SavedFilter.objects.get()

    assert list_filters(workspace, person("editor"), "runs") == []
    assert as_("editor").post(f"{AT}/filters/{saved.pk}/delete/").status_code == 404
    as_("viewer").post(f"{AT}/filters/{saved.pk}/delete/")
    assert not SavedFilter.objects.exists()


def test_only_lists_that_are_known_keep_filters(as_, workspace):
    assert save(as_("viewer"), page="nowhere").status_code == 404


def test_a_filter_can_have_many_conditions(as_, workspace):
    query = "&".join(f"tag={n}" for n in range(60))
    assert save(as_("viewer"), query=query)["Location"] == f"{AT}/runs/?{query}"
