"""Bodies and requests are bounded before Django sees them."""

from __future__ import annotations

import asyncio
import json

import pytest
from asgiref.sync import async_to_sync
from django.test import override_settings

from flowapp.accounts.services import add_token
from flowapp.uploads.limits import body_limit
from flowapp.web.admission import Admission, client_of

SMALL = {"BODY_BYTES": 1_000, "REQUESTS_AT_ONCE": 2, "REQUESTS_WAITING": 2, "REQUEST_WAIT_SECONDS": 0.3}


class Django:
    """Reads the body like Django, then takes the given time."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.read, self.present, self.most_present = seconds, 0, 0, 0

    async def __call__(self, scope, receive, send):
        while True:
            message = await receive()
            self.read += len(message.get("body", b""))
            if not message.get("more_body"):
                break
        self.present += 1
        self.most_present = max(self.most_present, self.present)
        await asyncio.sleep(self.seconds)
        self.present -= 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})


def scope_of(path="/nowhere/", method="POST", **headers):
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "method": method, "path": path, "query_string": b"", "headers": named, "client": ("::1", 1)}


async def ask(app, scope, chunks=(b"",)):
    """Return the status, the headers and the body of a response. `chunks` are those of the request's body."""
    left, sent = list(chunks), []

    async def receive():
        if not left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(part.get("body", b"") for part in sent)


def admit(django, slots=9, limit=1_000):
    return Admission(django, lambda scope: limit, slots)


@pytest.mark.parametrize(
    "path", ["/nowhere/", "/api/pipelines/validate/", "/w/x/files/upload/", "/login/", "/static/x"]
)
@override_settings(**SMALL)
def test_a_body_that_is_declared_too_large_is_refused_before_any_of_it_is_read(path):
    django = Django()
    status, headers, _ = async_to_sync(ask)(admit(django), scope_of(path, content_length="1001"), [b"x" * 1001])
    assert (status, django.read, headers[b"connection"]) == (413, 0, b"close")


@pytest.mark.parametrize("path", ["/nowhere/", "/api/pipelines/validate/", "/w/x/files/upload/", "/login/"])
@override_settings(**SMALL)
def test_a_body_in_chunks_is_refused_as_soon_as_it_is_too_large(path):
    django = Django()
    status, _, _ = async_to_sync(ask)(admit(django), scope_of(path, transfer_encoding="chunked"), [b"x" * 300] * 50)
    assert (status, django.read) == (413, 900)


@override_settings(**SMALL)
def test_more_than_was_declared_is_refused_as_well():
    django = Django()
    status, _, _ = async_to_sync(ask)(admit(django), scope_of(content_length="3"), [b"x" * 600] * 3)
    assert (status, django.read) == (413, 600)


@override_settings(**SMALL)
def test_a_refusal_is_a_problem_for_programs_and_a_page_for_people():
    _, headers, body = async_to_sync(ask)(admit(Django()), scope_of("/api/x/", content_length="9999"))
    assert headers[b"content-type"] == b"application/problem+json"
    assert json.loads(body)["code"] == "request.too_large"
    _, _, page = async_to_sync(ask)(admit(Django()), scope_of("/x/", content_length="9999"))
    assert b"<h1" in page
    assert b"1,000 bytes" in page
    _, _, part = async_to_sync(ask)(admit(Django()), scope_of("/x/", content_length="9999", hx_request="true"))
    assert part.startswith(b"<div")


@override_settings(**SMALL)
def test_a_body_within_the_bound_reaches_django_whole():
    django = Django()
    assert async_to_sync(ask)(admit(django), scope_of(content_length="1000"), [b"x" * 500] * 2)[0] == 200
    assert django.read == 1000


@async_to_sync
async def statuses(app, *scopes):
    return [status for status, _, _ in await asyncio.gather(*(ask(app, scope) for scope in scopes))]


def cookie(name):
    return scope_of(cookie=f"other=1; flow_session={name}")


@override_settings(**SMALL)
def test_one_person_has_so_many_places_and_the_others_have_theirs():
    django = Django(seconds=0.05)
    found = statuses(admit(django), *[cookie("viewer")] * 8, cookie("editor"))
    assert found == [200] * 4 + [429] * 4 + [200]
    assert django.most_present == 3


@override_settings(**SMALL)
def test_a_request_that_waits_too_long_for_a_slot_gets_a_retry_time():
    django = Django(seconds=0.6)
    assert statuses(admit(django), *[cookie("viewer")] * 3) == [200, 200, 429]
    assert statuses(admit(Django(seconds=0.6), slots=2), *[cookie(f"p{i}") for i in range(3)]) == [200, 200, 503]
    _, headers, _ = async_to_sync(_third)(admit(Django(seconds=0.6)))
    assert headers[b"retry-after"] == b"5"


async def _third(app):
    answers = await asyncio.gather(*(ask(app, cookie("viewer")) for _ in range(3)))
    return answers[2]


@override_settings(**SMALL)
def test_the_health_check_and_files_need_no_place():
    app = admit(Django(seconds=0.6), slots=1)
    found = statuses(app, cookie("a"), scope_of("/api/health/", "GET"), scope_of("/static/app.css", "GET"))
    assert found == [200, 200, 200]


@override_settings(**SMALL)
def test_who_sends_slowly_takes_no_place():
    async def both():
        app, never = admit(Django(), slots=1), asyncio.Event()

        async def receive():
            await never.wait()

        slow = asyncio.create_task(app(cookie("slow"), receive, None))
        await asyncio.sleep(0)
        status, _, _ = await ask(app, cookie("quick"))
        slow.cancel()
        return status

    assert async_to_sync(both)() == 200


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (scope_of(authorization="Token key"), scope_of(authorization="token  key", cookie="flow_session=x")),
        (cookie("a"), scope_of(cookie="flow_session=b; flow_session=a")),
        (cookie("a"), scope_of(authorization="Bearer x", cookie="flow_session=a")),
    ],
)
def test_a_client_is_known_by_what_the_views_go_by(one, other):
    assert client_of(one) == client_of(other)
    assert client_of(one) != client_of(scope_of())


@pytest.mark.django_db
@pytest.mark.parametrize(("role", "may"), [("viewer", False), ("editor", True)])
def test_only_editors_can_send_a_file(workspace, as_, role, may, settings):
    browser = as_(role)
    cookies = f"flow_session={browser.cookies['flow_session'].value}"
    key, _ = add_token(workspace, f"{role}s", role, days=1)
    for scope in (
        scope_of("/w/alices-team/files/upload/", cookie=cookies),
        scope_of("/api/files/upload/", cookie=cookies, x_flow_workspace="alices-team"),
        scope_of("/api/files/upload/", authorization=f"Token {key}"),
    ):
        assert (body_limit(scope) > settings.UPLOAD_BYTES) is may


@pytest.mark.django_db
def test_nobody_else_may(workspace, settings):
    for scope in (
        scope_of("/w/alices-team/files/upload/"),
        scope_of("/w/alices-team/files/upload/", cookie="flow_session=made-up"),
        scope_of("/api/files/upload/", authorization="Token made-up"),
        scope_of("/api/files/upload/", authorization="Token \xff"),
        scope_of("/w/nowhere/files/upload/"),
        scope_of("/api/pipelines/validate/"),
        scope_of("/nowhere/"),
    ):
        assert body_limit(scope) == settings.BODY_BYTES
