"""The History tab: versions, and a comparison of two versions or of a version and the draft."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict

from flowapp.pipelines.diffs import side_by_side
from flowapp.pipelines.drafts import DraftView, json_text
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_version, list_versions
from flowapp.web.paging import take_page

DRAFT = "draft"


def history(pipeline: Pipeline, view: DraftView, query: QueryDict) -> dict[str, Any]:
    """Return a page of versions. With `left` and `right` in the query, add the differences between these two; with
    `version`, the document of that version."""
    page = take_page(list_versions(pipeline), query.get("cursor", ""), ("-number",), 25)
    left, right = query.get("left", ""), query.get("right", "")
    context: dict[str, Any] = {"versions": page, "left": left, "right": right}
    if number := query.get("version", ""):
        shown = get_version(pipeline, _number(number))
        context |= {"shown": shown, "document": json_text(shown.document)}
    if left and right:
        texts = [_text_of(pipeline, view, name) for name in (left, right)]
        context["lines"] = side_by_side(*texts)
        context["titles"] = [_title(name) for name in (left, right)]
    return context


def _text_of(pipeline: Pipeline, view: DraftView, name: str) -> str:
    if name == DRAFT:
        return view.draft.text
    return json_text(get_version(pipeline, _number(name)).document)


def _number(name: str) -> int:
    """Parse a version number. Return a number that no version has if the text is invalid."""
    return int(name) if name.isdecimal() and len(name) < 10 else -1


def _title(name: str) -> str:
    return "Your draft" if name == DRAFT else f"Version {name}"
