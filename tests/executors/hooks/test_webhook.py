"""Webhooks against real TLS servers: the request, and the addresses that must not be reached."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from executors.hooks import posting
from executors.hooks.base import Interruption
from executors.hooks.posting import Network
from executors.model import WebhookConnection
from ir import InvalidPipeline, parsePipelineIR
from ir.hooks.webhook import check_webhook_url
from ir.pointers import ROOT
from ir.webhook_addresses import public_policy
from tests.executors.hooks.conftest import Run, pipeline
from tests.ir.cases import FOLDER
from tests.receivers import (
    GIGABYTE,
    HOST,
    Certificates,
    Receiver,
    drip,
    flood,
    make_certificates,
    open_network,
    receiving,
    status,
)

CORPUS = json.loads((FOLDER.parent / "hooks" / "webhooks.json").read_text())
LOCAL = {HOST: [["127.0.0.1"]], "other.example": [["127.0.0.1"]]}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"), HOST, "other.example")


@pytest.fixture
def receiver(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """Make the receiver's address count as public; all other addresses are validated as usual."""
    open_network(monkeypatch, certificates.ca, LOCAL, "127.0.0.1/32")
    with receiving(certificates) as server:
        yield server


def hook(url: str) -> dict[str, Any]:
    return {"type": "webhook", "url": url}


# --- what is sent -------------------------------------------------------------------------------------------------


def test_names_and_counts_are_posted(run: Run, receiver: Receiver, schema: str):
    report, _ = run(hook(f"{receiver.url}/loaded"), counts={"rows_read": 5, "rows_loaded": 4, "rows_updated": None})
    assert (report.state, report.message) == ("succeeded", "The receiver returned 204.")
    (request,) = receiver.requests
    assert (request.path, request.headers["content-type"]) == ("/loaded", "application/json")
    assert request.json == {
        "event": "load.committed",
        "run": "run-1",
        "pipeline": "case",
        "version": 3,
        "node": "load",
        "hook": "load.postHook.0",
        "schema": schema,
        "table": "t",
        "loadMode": "append",
        "counts": {"rowsRead": 5, "rowsLoaded": 4},
    }


def test_a_request_that_is_sent_again_has_the_same_key(run: Run, receiver: Receiver):
    run(hook(f"{receiver.url}/"))
    run(hook(f"{receiver.url}/"))
    assert [r.headers["idempotency-key"] for r in receiver.requests] == ["run-1.load.postHook.0"] * 2


def test_a_connection_brings_its_address_headers_and_signature(run: Run, receiver: Receiver):
    pager = WebhookConnection("pager", f"{receiver.url}/base/", {"X-Team": "data"}, "s3cret")
    report, _ = run({"type": "webhook", "connection": "pager", "path": "/loaded"}, webhooks={"pager": pager})
    assert report.statement == "POST /loaded to connection pager"
    (request,) = receiver.requests
    assert (request.path, request.headers["X-Team"]) == ("/base/loaded", "data")
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    mac = base64.b64encode(hmac.new(b"s3cret", signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{mac}"
    assert abs(int(request.headers["webhook-timestamp"]) - time.time()) < 60


def test_a_bare_url_is_not_signed(run: Run, receiver: Receiver):
    run(hook(f"{receiver.url}/"))
    assert "webhook-signature" not in receiver.requests[0].headers


def test_no_secret_of_a_connection_is_reported(run: Run, receiver: Receiver):
    pager = WebhookConnection("pager", f"{receiver.url}/T0KEN", {"Authorization": "Bearer H3ADER"}, "S1GN")
    receiver.answers["/T0KEN"] = status(500)
    report, failure = run({"type": "webhook", "connection": "pager"}, webhooks={"pager": pager})
    reported = f"{report} {failure.message} {failure.hint} {pager!r}"
    assert not [secret for secret in ("T0KEN", "H3ADER", "S1GN") if secret in reported]


def test_a_traceback_contains_no_address(run: Run):
    pager = WebhookConnection("pager", "https://127.0.0.1/T0KEN", {}, "")
    _, failure = run({"type": "webhook", "connection": "pager"}, webhooks={"pager": pager})
    assert failure.code == "webhook.not_public"
    assert "T0KEN" not in "".join(traceback.format_exception(failure))


def test_a_proxy_of_the_environment_is_not_used(run: Run, receiver: Receiver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert run(hook(f"{receiver.url}/"))[0].state == "succeeded"


# --- where nothing is sent ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(code: int, run: Run, receiver: Receiver, certificates: Certificates):
    with receiving(None) as plain, receiving(certificates, host="other.example") as other:
        leads = {
            "/loopback": f"http://127.0.0.1:{plain.port}/hit",
            "/same": f"http://{HOST}:{plain.port}/hit",
            "/other": f"{other.url}/hit",
            "/tls-loopback": f"https://127.0.0.1:{other.port}/hit",
            "/relative": "/hit",
            "/broken": "https://[::1/hit",
        }
        for path, location in leads.items():
            receiver.answers[path] = status(code, Location=location)
            report, failure = run(hook(f"{receiver.url}{path}"))
            assert (report.state, failure.code) in {("failed", "webhook.redirected"), ("failed", "webhook.broke_off")}
        assert plain.requests + other.requests == []
        assert "/hit" not in receiver.paths()


@pytest.mark.parametrize("url", CORPUS["refused as written"])
def test_an_address_that_is_not_public_is_refused_at_save(url: str, schema: str):
    with pytest.raises(InvalidPipeline):
        parsePipelineIR(pipeline(schema, postHook=hook(url)))


@pytest.mark.parametrize("url", CORPUS["public"])
def test_a_public_address_is_taken(url: str):
    assert list(check_webhook_url(url, ROOT)) == []


@pytest.mark.parametrize("url", [u for u in CORPUS["refused as written"] if u.startswith("https") and "?" not in u])
def test_an_address_that_is_not_public_is_refused_at_run(url: str, run: Run):
    """A stored connection could contain such an address. The test uses the real network."""
    pager = WebhookConnection("pager", url.rstrip("/"), {}, "")
    report, failure = run({"type": "webhook", "connection": "pager"}, webhooks={"pager": pager})
    assert report.state == "failed"
    assert failure.code in ("webhook.not_public", "webhook.address", "webhook.name_unknown", "webhook.names_silent")


@pytest.mark.parametrize("url", CORPUS["refused by this machine's own look-up"])
def test_a_name_of_this_machine_is_refused(url: str, run: Run):
    report, failure = run(hook(url))
    assert (report.state, failure.code) == ("failed", "webhook.not_public")


@pytest.mark.parametrize("addresses", CORPUS["refused when looked up"], ids=" ".join)
def test_a_name_is_refused_if_any_of_its_addresses_is_not_public(
    addresses: list[str], run: Run, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
):
    names = open_network(monkeypatch, certificates.ca, {HOST: [addresses]})
    with receiving(certificates) as server:
        report, failure = run(hook(f"{server.url}/hit"))
        assert (report.state, failure.code) == ("failed", "webhook.not_public")
        assert server.requests == []
    assert names.asked == [HOST]


def test_the_address_that_was_checked_is_the_one_that_is_used(
    run: Run, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
):
    answers = {HOST: [["127.0.0.1"], ["127.0.0.2"]]}
    names = open_network(monkeypatch, certificates.ca, answers, "127.0.0.1/32")
    with receiving(certificates) as server:
        assert run(hook(f"{server.url}/"))[0].state == "succeeded"
        assert names.asked == [HOST]
        assert run(hook(f"{server.url}/"))[1].code == "webhook.not_public"
        assert len(server.requests) == 1


def test_an_untrusted_certificate_is_refused(run: Run, receiver: Receiver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(posting, "PUBLIC", Network(posting.PUBLIC.policy, posting.PUBLIC.resolver))
    report, _ = run(hook(f"{receiver.url}/"))
    assert f"certificate of {HOST}:{receiver.port} is not trusted: it is not signed" in report.message
    assert receiver.requests == []


def test_a_certificate_of_another_name_is_refused(
    run: Run, receiver: Receiver, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
):
    open_network(monkeypatch, certificates.ca, {"third.example": [["127.0.0.1"]]}, "127.0.0.1/32")
    report, _ = run(hook(f"https://third.example:{receiver.port}/"))
    assert f"certificate of third.example:{receiver.port} is not trusted: it is for another name" in report.message


def test_the_product_reaches_public_addresses_only():
    assert Network(public_policy()) == posting.PUBLIC
    assert public_policy().allowed_networks == ()


# --- what takes too long or is too much ---------------------------------------------------------------------------


@pytest.mark.parametrize("what", [b"HTTP/1.1 200 OK\r\nX-A: b\r\n", b"x"], ids=["headers", "rubbish"])
def test_a_receiver_that_drips_is_left_in_time(
    what: bytes, run: Run, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(posting, "TOTAL_SECONDS", 1.5)
    receiver.answers["/"] = drip(receiver, what, 0.2)
    started = time.monotonic()
    report, failure = run(hook(f"{receiver.url}/"))
    assert (report.state, failure.code) == ("failed", "webhook.timeout")
    assert time.monotonic() - started < 5
    assert receiver.left.wait(10)


def test_a_body_that_drips_is_left_in_time(run: Run, receiver: Receiver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(posting, "TOTAL_SECONDS", 1.5)

    def answer(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        drip(receiver, b"x", 0.2)(handler)

    receiver.answers["/"] = answer
    assert run(hook(f"{receiver.url}/"))[1].code == "webhook.timeout"
    assert receiver.left.wait(10)


def test_a_receiver_that_accepts_and_says_nothing_is_left(run: Run, receiver: Receiver, monkeypatch):
    monkeypatch.setattr(posting, "SILENT_SECONDS", 0.5)
    receiver.answers["/"] = lambda handler: time.sleep(3)
    assert run(hook(f"{receiver.url}/"))[1].code == "webhook.timeout"


def test_a_name_that_is_looked_up_for_ever_is_left(run: Run, certificates: Certificates, monkeypatch):
    monkeypatch.setattr(posting, "TOTAL_SECONDS", 0.5)
    hang = threading.Event()

    def look_up(*_: Any, **__: Any) -> list[Any]:
        hang.wait(30)
        return []

    monkeypatch.setattr(posting, "PUBLIC", Network(public_policy(), look_up))
    assert run(hook("https://slow.example/"))[1].code == "webhook.timeout"
    hang.set()


def test_of_a_gigabyte_next_to_nothing_is_read(run: Run, receiver: Receiver):
    receiver.answers["/"] = flood(receiver)
    started = time.monotonic()
    assert run(hook(f"{receiver.url}/"))[0].state == "succeeded"
    assert time.monotonic() - started < 5
    assert receiver.left.wait(10)
    assert receiver.sent < GIGABYTE / 16


@pytest.mark.parametrize(("code", "transient"), [(500, True), (503, True), (429, True), (400, False), (404, False)])
def test_a_receiver_that_refuses_is_reported(code: int, transient: bool, run: Run, receiver: Receiver):
    receiver.answers["/"] = status(code)
    report, failure = run(hook(f"{receiver.url}/"))
    assert report.message.startswith(f"The receiver returned {code}.")
    assert (type(failure).__name__ == "Transient") == transient


def test_a_receiver_that_is_not_there_is_reported(run: Run, certificates: Certificates, monkeypatch):
    open_network(monkeypatch, certificates.ca, LOCAL, "127.0.0.1/32")
    assert run(hook(f"https://{HOST}:1/"))[1].code == "webhook.nothing_listens"


def test_a_request_can_be_interrupted_from_another_thread(run: Run, receiver: Receiver):
    receiver.answers["/"] = drip(receiver, b"x", 0.2)
    interruption, answers = Interruption(), []
    thread = threading.Thread(target=lambda: answers.append(run(hook(f"{receiver.url}/"), interruption=interruption)))
    thread.start()
    started = time.monotonic()
    while thread.is_alive():
        time.sleep(0.1)
        interruption.interrupt()
    assert time.monotonic() - started < 5
    assert answers[0][0].message.startswith("The request was interrupted")
