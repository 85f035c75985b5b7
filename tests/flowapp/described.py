"""Compare API responses with their description in `/api/schema/`."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from django.http import HttpResponse
from django.urls import Resolver404, resolve
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.plumbing import _load_enum_name_overrides
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

JSON_TYPES = ("application/json", "application/problem+json")
PLACE = "urn:api"


@cache
def api_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(json.dumps(SchemaGenerator().get_schema(public=True)))
    return schema


def forget() -> None:
    """Render the description again, because a test has registered or removed a kind."""
    api_schema.cache_clear()
    _validator.cache_clear()
    _load_enum_name_overrides.cache_clear()


def require_described(response: HttpResponse) -> None:
    """Raises AssertionError for an answer of the API that its description does not allow."""
    request = response.wsgi_request  # type: ignore[attr-defined]
    declared = _declared(request.path, request.method, response.status_code)
    sent = response.get("Content-Type", "").partition(";")[0]
    if declared is None or response.streaming or sent not in JSON_TYPES:
        return
    name = f"{request.method} {request.path} {response.status_code}"
    content = declared.get("content", {})
    assert sent in content, f"{name}: {sent} is not described, only {list(content)}"
    faults = [
        f"{name}: {fault.json_path}: {fault.message}"
        for fault in _validator(json.dumps(content[sent]["schema"])).iter_errors(json.loads(response.content))
    ]
    assert not faults, "\n".join(faults)


def _declared(path: str, method: str, status: int) -> dict[str, Any] | None:
    """Return the description of that status; None for unknown paths and methods."""
    try:
        route = resolve(path).route
    except Resolver404:
        return None
    operations = api_schema()["paths"].get("/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route), {})
    responses = operations.get(method.lower())
    if responses is None:
        return None
    found = responses["responses"].get(str(status)) or responses["responses"].get(f"{status // 100}XX")
    assert found is not None, f"{method} {path}: the status {status} is not described"
    return dict(found)


@cache
def _validator(schema: str) -> Draft202012Validator:
    resource = Resource(contents=_closed(api_schema()), specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource(PLACE, resource)
    return Draft202012Validator(_placed(json.loads(schema)), registry=registry)


def _placed(schema: Any) -> Any:
    """With references into the description."""
    if isinstance(schema, list):
        return [_placed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: PLACE + part if name == "$ref" else _placed(part) for name, part in schema.items() if name != "readOnly"
    }


def _closed(schema: Any) -> Any:
    """The same with no property allowed that is not described."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(part) for name, part in schema.items()}
    if schema.get("type") == "object" and "properties" in schema and "additionalProperties" not in schema:
        closed["additionalProperties"] = False
    return closed
