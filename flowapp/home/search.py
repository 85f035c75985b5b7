"""The search of Ctrl-K: pages, actions and pipelines of one workspace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from django.db.models import Q, QuerySet
from django.urls import reverse

from flowapp.accounts.models import Workspace
from flowapp.accounts.roles import ROWS_VIEW, is_at_least
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import list_pipelines
from flowapp.web.docs import INDEX, list_groups, page_url
from flowapp.web.navigation import ACTIONS, ENTRIES

MOST_PIPELINES = 10
MOST_TRACES = 5
TRACE = "Where did my row go?"


class Hit(NamedTuple):
    label: str
    url: str
    icon: str
    detail: str = ""


def find(workspace: Workspace, role: str, words: str) -> list[tuple[str, list[Hit]]]:
    """Return the non-empty groups of hits. Without words: all pages and actions, and the first pipelines."""
    groups = (
        ("Pipelines", _pipelines(workspace, words)),
        ("Pages", _pages(workspace, role, words)),
        ("Actions", _actions(workspace, role, words)),
        (TRACE, _traces(workspace, role, words)),
        ("Documentation", _docs(words)),
    )
    return [(name, hits) for name, hits in groups if hits]


def _fits(label: str, words: str) -> bool:
    return all(word in label.lower() for word in words.lower().split())


def _pages(workspace: Workspace, role: str, words: str) -> list[Hit]:
    found = [entry for entry in ENTRIES if is_at_least(role, entry.role) and _fits(entry.label, words)]
    return [Hit(entry.label, entry.address(workspace.slug), entry.icon) for entry in found]


def _actions(workspace: Workspace, role: str, words: str) -> list[Hit]:
    allowed = [action for action in ACTIONS if is_at_least(role, action.role) and _fits(action.label, words)]
    return [Hit(action.label, action.address(workspace.slug), action.icon) for action in allowed]


def _docs(words: str) -> list[Hit]:
    """Return the index of the documentation without words, else the pages whose titles contain the words."""
    if not words:
        return [Hit("Documentation", page_url(INDEX), "help-circle")]
    pages = [page for group in list_groups() for page in group.pages if _fits(page.title, words)]
    return [Hit(page.title, page_url(page.name), "help-circle") for page in pages]


def _traces(workspace: Workspace, role: str, words: str) -> list[Hit]:
    """Return links to "Where did my row go?" for the pipelines that the other words name."""
    named = [word for word in words.lower().split() if word not in TRACE.lower()]
    if not named or not is_at_least(role, ROWS_VIEW):
        return []
    found = _called(workspace, named).exclude(latest_number=0)
    return [
        Hit(p.name or p.slug, reverse("tracing:pipeline", args=[workspace.slug, p.slug]), "search", p.slug)
        for p in found[:MOST_TRACES]
    ]


def _called(workspace: Workspace, words: Iterable[str]) -> QuerySet[Pipeline]:
    found = list_pipelines(workspace)
    for word in words:
        found = found.filter(Q(slug__icontains=word) | Q(name__icontains=word))
    return found


def _pipelines(workspace: Workspace, words: str) -> list[Hit]:
    return [
        Hit(p.name or p.slug, reverse("pipelines:edit", args=[workspace.slug, p.slug]), "route", p.slug)
        for p in _called(workspace, words.split())[:MOST_PIPELINES]
    ]
