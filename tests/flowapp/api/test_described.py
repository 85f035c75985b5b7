"""`/api/schema/` describes every field of every request and response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator

from tests.flowapp.described import api_schema

FREE_FORM = {"PipelineDocument", "PipelineDocumentPart", "Row", "Value", "FieldErrors", "JsonPatch"}
"""Components whose form is not the API's to say: documents have a schema of their own, rows that of their table."""
WITHOUT_BODY = {"204"}
SCHEMAS = {"GET /api/schema/pipeline.json"}
"""Answers that are JSON Schemas themselves."""


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in api_schema()["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_the_schema_is_made_without_warnings() -> None:
    GENERATOR_STATS.reset()
    SchemaGenerator().get_schema(public=True)
    assert not GENERATOR_STATS, GENERATOR_STATS.emit_summary()


def test_each_response_has_a_schema() -> None:
    untyped = [
        f"{name} {status}"
        for name, operation in operations()
        for status, response in operation["responses"].items()
        if status not in WITHOUT_BODY
        and not all(body["schema"] for body in response.get("content", {"": {"schema": ""}}).values())
    ]
    assert untyped == []


def test_each_operation_has_a_response() -> None:
    assert [
        name for name, made in operations() if not any(status.startswith("2") for status in made["responses"])
    ] == []


def test_each_problem_is_described() -> None:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for name, operation in operations():
        assert [operation["responses"][status]["content"] for status in ("4XX", "5XX")] == [problem, problem], name


def test_nothing_is_a_free_form_object() -> None:
    found = {name: list(free_forms(operation, "")) for name, operation in operations() if name not in SCHEMAS}
    assert {name: places for name, places in found.items() if places} == {}


def test_no_component_is_a_free_form_object() -> None:
    components = {name: part for name, part in api_schema()["components"]["schemas"].items() if name not in FREE_FORM}
    assert list(free_forms(components, "")) == []


def free_forms(part: Any, at: str) -> Iterator[str]:
    """Yield objects without described properties or value types, and parts without a type."""
    if isinstance(part, list):
        for number, one in enumerate(part):
            yield from free_forms(one, f"{at}/{number}")
    if not isinstance(part, dict):
        return
    if part.get("type") == "object" and "properties" not in part and not part.get("additionalProperties"):
        yield at
    if at.endswith("/schema") and not part:
        yield at
    for name, one in part.items():
        yield from free_forms(one, f"{at}/{name}")


def test_fields_that_are_not_obvious_are_described() -> None:
    problem = api_schema()["components"]["schemas"]["Problem"]["properties"]
    assert all("description" in problem[name] for name in ("type", "code", "detail", "hint"))


@pytest.mark.parametrize("path", ["/api/pipelines/{slug}/ir/", "/api/pipelines/{slug}/draft/"])
def test_etags_and_if_match_are_described(path: str) -> None:
    methods = api_schema()["paths"][path]
    assert "ETag" in methods["get"]["responses"]["200"]["headers"]
    assert "If-Match" in {parameter["name"] for parameter in methods["put"]["parameters"]}


def test_lists_are_described_with_their_envelope() -> None:
    for path in ("runs", "pipelines", "files", "alerts", "backups", "members", "tokens", "channels", "connections"):
        body = api_schema()["paths"][f"/api/{path}/"]["get"]["responses"]["200"]["content"]["application/json"]
        name = body["schema"]["$ref"].rpartition("/")[2]
        assert {"next", "previous", "results"} <= set(api_schema()["components"]["schemas"][name]["required"])
