"""Hostile requests to every URL, with every parameter that a view reads.

Nothing is listed here: routes come from the resolver, parameters from the OpenAPI document and from the names that
views read, so that new ones are tested automatically."""

from __future__ import annotations

import base64
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

from django.db import transaction
from django.http import QueryDict
from django.test import Client
from django.urls import NoReverseMatch
from drf_spectacular.generators import SchemaGenerator

from flowapp.api.parsers import BoundedJSONParser
from tests.flowapp.web.routes import Route
from tests.flowapp.web.test_access import allowed

SECONDS = 1.0
"""CPU seconds for one request. Checking a text may take as much, plus the cost of the page."""
SLACK = 1.5


def cursor(text: str | bytes) -> str:
    return base64.urlsafe_b64encode(text if isinstance(text, bytes) else text.encode()).decode().rstrip("=")


TEXTS = (
    "",
    " ",
    "\0",
    "a\0b",
    "0",
    "-1",
    "1",
    "²",
    "१२",
    "1_000",
    "9" * 30,
    "-" + "9" * 30,
    "2147483648",
    "9" * 5_000,
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "true",
    "null",
    "[]",
    "{}",
    '{"a":{}}',
    "[" * 5_000,
    '{"a":' * 5_000,
    "9999-12-31",
    "0001-01-01",
    "2025-02-30",
    "9999-12-31T23:59",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00+14:00",
    "00000000-0000-4000-8000-000000000000",
    "💥",
    "\u202e",
    "x" * 5_000,
    "a" * 64,
    "'; --",
    "%",
    "%00",
    "../../etc",
    "__class__",
    "a:b:c",
    "a|b",
    "/nodes/0",
    "/nodes/99999999999999999999",
    "~2",
    "(" * 3_000,
    "CAST(x AS DECIMAL(MAX))",
    "date(" * 40 + ")" * 40,
    cursor("p=abc"),
    cursor("p=%00"),
    cursor("p=" + "9" * 30),
    cursor("p=9999-12-31&o=9"),
    cursor("r=x"),
    cursor("o=" + "9" * 30),
    cursor('["f",1]'),
    cursor('["f",1e999,2]'),
    cursor('["b",null]'),
    cursor('{"a":1e999}'),
    cursor('{"a":' + "9" * 30 + "}"),
    cursor("[" * 5_000),
    cursor('["f","a\\u0000","b"]'),
    cursor('["f","9999-12-31T00:00:00Z",1]'),
    cursor(b"\xff\xfe"),
    "====",
    "é",
)
RAW = ("%FF", "%ED%A0%80", "%C0%80")
"""Invalid UTF-8 in URLs."""
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    10**30,
    1.5,
    1e308,
    [],
    {},
    [[]],
    [{}],
    {"a": {}},
    ["a", None],
    "\ud800",
    "a\ud800",
    {"\0": 1},
    {"": ""},
    {"\ud800": 1},
    *TEXTS,
)
BODIES = (
    "",
    "null",
    "[]",
    "1",
    '"x"',
    "{}",
    "{",
    "[" * 100_000,
    '{"a":' * 50_000,
    "[" * 300 + "]" * 300,
    "NaN",
    "1e999",
    "9" * 5_000,
    '{"a": "\\ud800"}',
    '{"a": "\\u0000"}',
    '{"a": 1, "a": 2}',
    "\xff",
    '{"text": "' + "x" * 100_000 + '"}',
)
JSON = "application/json"


class Heard:
    """The names that views have read, by route and source."""

    def __init__(self) -> None:
        self.names: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        self.place = ("", "")

    def note(self, where: str, name: Any) -> None:
        if isinstance(name, str) and name:
            self.names[self.place[0], where][name] = None

    def of(self, route: Route, where: str) -> list[str]:
        return list(self.names[route.name, where])


def listening(kind: type, heard: Heard, where: str) -> type:
    """Return a mapping class that records the names that are read."""

    class Listening(kind):  # type: ignore[misc]
        def get(self, name: Any, *default: Any) -> Any:
            heard.note(where, name)
            return super().get(name, *default)

        def __getitem__(self, name: Any) -> Any:
            heard.note(where, name)
            return super().__getitem__(name)

        def __contains__(self, name: Any) -> bool:
            heard.note(where, name)
            return super().__contains__(name)

    class ListeningLists(Listening):  # type: ignore[misc, valid-type]
        def getlist(self, name: Any, *default: Any) -> Any:
            heard.note(where, name)
            return super().getlist(name, *default)

    return ListeningLists if issubclass(kind, QueryDict) else Listening


def listen(heard: Heard, monkeypatch: Any) -> None:
    """Record the names that views read from queries, forms and JSON bodies."""
    query, form, body = (
        listening(kind, heard, where) for kind, where in ((QueryDict, "query"), (QueryDict, "form"), (dict, "body"))
    )
    parse = BoundedJSONParser.parse

    def hear_body(self: Any, *args: Any, **kwargs: Any) -> Any:
        value = parse(self, *args, **kwargs)
        return body(value) if type(value) is dict else value

    def hear_request(get_response: Any) -> Any:
        def answer(request: Any) -> Any:
            request.GET = query(request.META.get("QUERY_STRING", ""))
            if request.method == "POST" and not request.path.startswith("/api/"):
                given, heard_form = request.POST, form("", mutable=True)
                for name, values in given.lists():
                    heard_form.setlist(name, values)
                request.POST = heard_form
            return get_response(request)

        return answer

    monkeypatch.setattr(BoundedJSONParser, "parse", hear_body)
    monkeypatch.setattr("tests.flowapp.web.fuzzing.hear", hear_request)


def hear(get_response: Any) -> Any:
    """Middleware; `listen` puts another in its place."""
    return get_response


def declared(heard: Heard, routes: list[Route]) -> None:
    """Note the query parameters that the OpenAPI document names."""
    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    for route in routes:
        path = route.pattern
        for name, converter in route.arguments.items():
            path = path.replace(f"<{converter}:{name}>", f"{{{name}}}")
        for operation in paths.get(path, {}).values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query":
                    heard.names[route.name, "query"][parameter["name"]] = None


class Fuzzer:
    """Sends requests to one workspace as its admin. Changes by a request are undone."""

    def __init__(self, client: Client, things: dict[str, object], heard: Heard, seed: int) -> None:
        self._client, self._things, self._heard = client, things, heard
        self._cookies = client.cookies.output(header="", sep=";")
        self._random = random.Random(seed)
        self.faults: list[str] = []
        self.asked = 0

    def try_route(self, route: Route) -> None:
        """One plain request of each method, so that its parameters are heard, and a hostile one."""
        for method in allowed(route) if route.is_api and hasattr(route.view, "cls") else ("get", "post"):
            self._ask(route, method, self._url(route, hostile=False))
            self._ask(route, method, self._url(route, hostile=self._random.random() < 0.2), hostile=True)

    def _url(self, route: Route, *, hostile: bool) -> str:
        given = {name: self._things[name] for name in route.arguments}
        if hostile and route.arguments:
            name = self._random.choice(list(route.arguments))
            try:
                return route.url_of({**given, name: self._random.choice(TEXTS)})
            except NoReverseMatch:
                pass
        return route.url_of(given)

    def _query(self, route: Route) -> str:
        names = self._heard.of(route, "query")
        some = self._random.sample(names, min(len(names), self._random.randint(1, 3)))
        parts = [urlencode([(name, self._random.choice(TEXTS)) for name in some])]
        if names and self._chance(0.1):
            parts.append(f"{quote(self._random.choice(names))}={self._random.choice(RAW)}")
        return "&".join(parts)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _body(self, route: Route, *, hostile: bool) -> Any:
        names = self._heard.of(route, "body" if route.is_api else "form")
        if not route.is_api:
            return {name: self._random.choice(TEXTS) for name in names if hostile and self._chance(0.5)}
        if hostile and self._chance(0.3):
            return self._random.choice(BODIES)
        return json.dumps({name: self._random.choice(VALUES) for name in names if hostile and self._chance(0.7)})

    def _headers(self, method: str, *, hostile: bool) -> dict[str, str]:
        headers = {"X-Flow-Workspace": "alices-team"}
        if hostile and self._chance(0.05):
            headers["Host"] = self._random.choice(("[", "a b", "evil.example"))
        if hostile and self._chance(0.3):
            headers["HX-Request"] = "true"
        if method == "put":
            headers["If-Match"] = self._random.choice(('"1"', '"0"', "x", '"' + "9" * 30 + '"'))
        return headers

    def _ask(self, route: Route, method: str, url: str, *, hostile: bool = False) -> None:
        self._heard.place = (route.name, method)
        if hostile and (query := self._query(route)):
            url += f"?{query}"
        headers = self._headers(method, hostile=hostile)
        data = {} if method == "get" else self._body(route, hostile=hostile)
        more = {"content_type": JSON} if route.is_api and method != "get" else {}
        self._client.cookies.clear()  # some requests sign out
        self._client.cookies.load(self._cookies)
        began = time.thread_time()
        with transaction.atomic():
            answer = getattr(self._client, method)(url, data, headers=headers, **more)
            transaction.set_rollback(True)
        took = time.thread_time() - began
        self.asked += 1
        problem = next(self._wrong(route, answer, took), None)
        if problem:
            self.faults.append(f"{problem}: {method.upper()} {url[:300]} {str(data)[:300]}")

    def _wrong(self, route: Route, answer: Any, took: float) -> Iterator[str]:
        if answer.status_code >= 500:
            exc = getattr(answer, "exc_info", None)
            yield f"{route.name} answers {answer.status_code} {exc and repr(exc[1])[:200]}"
        if took > SECONDS + SLACK:
            yield f"{route.name} takes {took:.1f} s"
        if route.is_api and answer.status_code >= 400 and answer["Content-Type"] != "application/problem+json":
            yield f"{route.name} answers {answer.status_code} without a problem body"
        if answer.status_code >= 400 and not answer.content:
            yield f"{route.name} answers {answer.status_code} without a word"
