"""Records of a web service on this machine: every kind of paging, waiting, signing in, and what is refused."""

from __future__ import annotations

import json
import os
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executors.errors import Failure, Terminal, Transient
from executors.model import SourceState, StoreConnection
from executors.reading import Reading
from executors.sources.base import Claimant, RowLimit, SourceContext
from executors.sources.http_api import HttpApi
from executors.sources.spooled import Spool, sweep_spools
from executors.stores.http_client import shown
from ir.nodes import Source
from ir.words import counted
from tests.connectors.http_api.service import Reply, Service, serving

PAGES = {
    "page": {"type": "page"},
    "offset": {"type": "offset"},
    "cursor": {"type": "cursor", "parameter": "cursor", "path": "$.meta.next"},
    "next": {"type": "next_url", "path": "$.next"},
    "link": {"type": "link_header"},
}
STATE = SourceState("x", json.dumps({"value": "2024-01-10T00:00:00Z", "seen": []}))
SINCE = {"parameter": "updated_since", "field": "updated_at"}


@pytest.fixture
def service() -> Iterator[Service]:
    with serving(Service([{"id": n, "updated_at": f"2024-01-{n:02}T00:00:00Z"} for n in range(1, 11)])) as started:
        yield started


@pytest.fixture
def fetch(service: Service, tmp_path: Path) -> Iterator[Callable[..., Reading]]:
    with ExitStack() as stack:

        def read(style: str = "cursor", *, state: SourceState | None = None, **given: Any) -> Reading:
            made = source_of(service, style, tmp_path, **given)
            made.open(stack)
            return made.reading(state=state)

        yield read


def source_of(
    service: Service,
    style: str,
    folder: Path,
    *,
    connection: StoreConnection | None = None,
    limit: RowLimit | None = None,
    **config: Any,
) -> HttpApi:
    settings: dict[str, Any] = {"url": f"{service.url}{style}"}
    if style != "all":
        settings |= {"records": "$.data", "pages": PAGES[style]}
    node = Source(id="src", kind="source", connector="http_api", connection="service", config=settings | config)
    store = connection or service.connection()
    return HttpApi(node, SourceContext(folder, Claimant("orders", frozenset(["src"])), store=store, limit=limit))


def rows_of(reading: Reading) -> list[dict[str, Any]]:
    rows = []
    for part in reading.parts:
        for batch in reading.reader.read(part, reading.fields):
            rows += batch.to_pylist()
    return rows


def ids(reading: Reading) -> list[int]:
    return [int(row["id"]) for row in rows_of(reading) if row["id"] is not None]


def state_of(reading: Reading) -> SourceState:
    state = reading.origins[0].state
    assert state is not None
    return state


@pytest.mark.parametrize("style", ["all", *PAGES])
def test_every_page_is_read_once(service: Service, fetch: Callable[..., Reading], style: str) -> None:
    reading = fetch(style)
    assert ids(reading) == list(range(1, 11))
    assert reading.records == 10


@pytest.mark.parametrize("style", PAGES)
def test_a_server_with_shorter_pages_than_asked_for_loses_nothing(
    service: Service, fetch: Callable[..., Reading], style: str
) -> None:
    service.page_size = 1
    assert ids(fetch(style, parameters={"limit": "5"})) == list(range(1, 11))


@pytest.mark.parametrize("style", ["all", *PAGES])
def test_a_service_without_records_gives_none(service: Service, fetch: Callable[..., Reading], style: str) -> None:
    service.records.clear()
    reading = fetch(style)
    assert (reading.records, reading.is_blank, reading.is_empty()) == (0, True, True)


def test_fixed_parameters_are_sent_with_every_page(service: Service, fetch: Callable[..., Reading]) -> None:
    fetch("page", parameters={"status": "paid & sent", "limit": "3"})
    assert len(service.requests) == 5  # four pages, and one without records
    assert {query["status"] for _, query in service.requests} == {"paid & sent"}


def test_numbers_stay_as_the_service_writes_them(service: Service, fetch: Callable[..., Reading]) -> None:
    service.replies.append((200, {}, '[{"id": 1, "price": 1.10, "big": 12345678901234567890.5}]'))
    (row,) = rows_of(fetch("all"))
    assert (row["price"], row["big"]) == ("1.10", "12345678901234567890.5")


def test_the_token_is_sent_only_to_the_service(service: Service, fetch: Callable[..., Reading]) -> None:
    service.token = "s3cret"
    assert ids(fetch("next")) == list(range(1, 11))
    with pytest.raises(Terminal) as refused:
        fetch("next", connection=StoreConnection("other", "http", {"url": service.url, "user": ""}))
    assert refused.value.code == "source.credentials_refused"
    assert refused.value.node == "src"


def test_secret_parameters_are_sent_with_every_page(service: Service, fetch: Callable[..., Reading]) -> None:
    secret = service.connection(parameters="api_key = s3cret&1\n\nclient=flow")
    fetch("next", connection=secret, parameters={"limit": "5"})
    assert {(query["api_key"], query["client"]) for _, query in service.requests} == {("s3cret&1", "flow")}
    service.replies.append((404, {}, ""))
    with pytest.raises(Terminal) as failed:
        fetch("next", connection=secret)
    assert "s3cret" not in repr(failed.value)


def test_a_parameter_without_a_value_is_refused(service: Service, fetch: Callable[..., Reading]) -> None:
    assert code_of(lambda: fetch("all", connection=service.connection(parameters="s3cret"))) == "source.store_unusable"


def test_private_addresses_need_a_connection(service: Service, fetch: Callable[..., Reading]) -> None:
    with pytest.raises(Terminal) as refused:
        fetch("all", connection=StoreConnection("", "http", {"url": "", "user": ""}))
    assert refused.value.code == "source.not_public"
    assert service.requests == []


def test_a_connection_to_the_very_address_sends_its_secrets(service: Service, fetch: Callable[..., Reading]) -> None:
    service.token = "s3cret"
    settings = {"url": f"{service.url}all", "user": ""}
    assert fetch("all", connection=StoreConnection("service", "http", settings, {"token": "s3cret"})).records == 10


def test_an_address_outside_the_connection_is_refused(service: Service, fetch: Callable[..., Reading]) -> None:
    """Without its secrets the service may return other records."""
    other = StoreConnection("service", "http", {"url": f"{service.url}next", "user": ""}, {"token": "s3cret"})
    assert code_of(lambda: fetch("all", connection=other)) == "http_api.outside_connection"
    service.replies.append((200, {}, '{"data": [{"id": 1}], "next": "/v2/next"}'))
    assert code_of(lambda: fetch("next", connection=other)) == "http_api.next_elsewhere"
    assert [path for path, _ in service.requests] == ["/v1/next"]
    assert fetch("all", connection=replace(other, secrets={})).records == 10


def test_a_secret_in_a_redirect_is_not_sent_elsewhere(service: Service, fetch: Callable[..., Reading]) -> None:
    secret = service.connection(parameters="api_key=s3cret")
    for to in ("http://localhost:1/", "/elsewhere/"):
        service.replies.append((302, {"Location": f"{to}?api_key=s3cret"}, ""))
        assert code_of(lambda: fetch("all", connection=secret)) == "source.redirect_refused"
    assert [path for path, _ in service.requests] == ["/v1/all"] * 2


def test_messages_repeat_no_user_of_an_address() -> None:
    assert shown("http://flow:s3cret@127.0.0.1/a?b=1") == "http://127.0.0.1/a"


# --- since the last load ------------------------------------------------------------------------------------------


def test_the_next_load_begins_at_the_highest_value(service: Service, fetch: Callable[..., Reading]) -> None:
    state = state_of(fetch(incremental=SINCE))
    assert json.loads(state.value)["value"] == "2024-01-10T00:00:00Z"
    service.records.append({"id": 11, "updated_at": "2024-01-11T00:00:00Z"})
    later = fetch(incremental=SINCE, state=state)
    assert service.requests[-1][1] == {"updated_since": "2024-01-09T23:59:00Z"}
    assert ids(later) == [11]
    assert json.loads(state_of(later).value)["value"] == "2024-01-11T00:00:00Z"


def test_a_source_says_how_many_pages_it_has_read_and_where_they_begin(service: Service, tmp_path: Path) -> None:
    for state, begins in ((None, "all records"), (STATE.value, "from updated_since=")):
        source = source_of(service, "cursor", tmp_path, incremental=SINCE)
        spool = Spool(tmp_path / f"rows of {begins}", None, "src")
        source.fetch(state, spool)
        spool.close()
        pages = len({request[1].get("cursor") for request in service.requests})
        service.requests.clear()
        assert source.read_note.startswith(f"{counted(pages, 'page')} of {source.name}, {begins}")


def test_a_load_without_new_records_does_not_lose_its_place(service: Service, fetch: Callable[..., Reading]) -> None:
    reading = fetch(incremental=SINCE, state=STATE)
    assert reading.records == 1
    service.records.clear()
    later = fetch(incremental=SINCE, state=state_of(reading))
    assert (later.records, later.is_blank, later.fields) == (0, False, reading.fields)
    assert json.loads(state_of(later).value)["value"] == "2024-01-10T00:00:00Z"


def test_the_first_load_begins_at_start(service: Service, fetch: Callable[..., Reading]) -> None:
    assert ids(fetch(incremental={**SINCE, "start": "2024-01-08"})) == [8, 9, 10]


def test_a_field_without_values_is_reported(service: Service, tmp_path: Path) -> None:
    source = source_of(service, "cursor", tmp_path, incremental={**SINCE, "field": "updatedAt"})
    with ExitStack() as stack:
        source.open(stack)
        assert source.reading().origins[0].state is None
    assert [(one.code, "'updatedAt'" in one.message) for one in source.warnings] == [("http_api.no_value", True)]


def test_two_targets_with_the_same_state_share_the_records(service: Service, tmp_path: Path) -> None:
    source = source_of(service, "cursor", tmp_path, incremental=SINCE)
    with ExitStack() as stack:
        source.open(stack)
        first, asked = source.reading(state=STATE), len(service.requests)
        assert source.reading(state=STATE) is first
        assert len(service.requests) == asked
        assert ids(source.reading()) == list(range(1, 11))


def test_states_belong_to_their_settings(service: Service, tmp_path: Path) -> None:
    one = source_of(service, "cursor", tmp_path, incremental=SINCE)
    same = source_of(service, "cursor", tmp_path, incremental={**SINCE, "overlap": "2h"})
    other = source_of(service, "cursor", tmp_path, incremental={**SINCE, "field": "created_at"})
    assert one.state_settings == same.state_settings != other.state_settings
    assert source_of(service, "cursor", tmp_path).state_settings == ""


# --- waiting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_to_wait_gets_the_request_again(
    service: Service, fetch: Callable[..., Reading], status: int
) -> None:
    service.replies.append((status, {"Retry-After": "0"}, "later"))
    assert ids(fetch("all")) == list(range(1, 11))
    assert len(service.requests) == 2


def test_a_server_that_asks_for_too_long_ends_the_attempt(service: Service, fetch: Callable[..., Reading]) -> None:
    service.replies.append((429, {"Retry-After": "3600"}, ""))
    with pytest.raises(Transient) as refused:
        fetch("all")
    assert refused.value.code == "http_api.refused_for_now"
    assert "3,600 s" in refused.value.message


def test_an_interrupted_wait_ends_at_once(service: Service, tmp_path: Path) -> None:
    service.replies.append((429, {"Retry-After": "200"}, ""))
    source = source_of(service, "all", tmp_path)
    with ExitStack() as stack:
        source.open(stack)
        source.interrupt()
        with pytest.raises(Transient) as ended:
            source.reading()
    assert ended.value.code == "source.interrupted"


@pytest.mark.parametrize("beginning", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_a_response_that_drips_can_be_interrupted(service: Service, tmp_path: Path, beginning: bytes) -> None:
    with dripping(beginning) as (url, has_begun):
        service.url = url
        source = source_of(service, "all", tmp_path)
        with ExitStack() as stack:
            source.open(stack)
            began = time.monotonic()
            threading.Thread(target=lambda: has_begun.wait(10) and source.interrupt()).start()
            with pytest.raises(Transient) as ended:
                source.reading()
    assert ended.value.code == "source.interrupted"
    assert time.monotonic() - began < 5


@contextmanager
def dripping(beginning: bytes) -> Iterator[tuple[str, threading.Event]]:
    """Serve a response that never ends, one byte after the other."""
    has_begun, is_over = threading.Event(), threading.Event()

    def drip(listener: socket.socket) -> None:
        connected, _ = listener.accept()
        with connected, suppress(OSError):
            connected.recv(10_000)
            connected.sendall(beginning)
            has_begun.set()
            while not is_over.wait(0.05):
                connected.sendall(b" " if beginning else b"")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1/", has_begun
        finally:
            is_over.set()
            thread.join()


# --- what is refused ----------------------------------------------------------------------------------------------


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(Failure) as failure:
        action()
    assert failure.value.node == "src"
    return failure.value.code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("<html>", "http_api.not_json"),
        ('{"error": "x"}', "http_api.no_records"),
        ('{"data": "none"}', "http_api.no_records"),
        ('{"data": [], "next": "https://other.example.com/"}', "http_api.next_elsewhere"),
    ],
)
def test_other_responses_are_refused(service: Service, fetch: Callable[..., Reading], body: str, code: str) -> None:
    service.replies.append((200, {}, body))
    assert code_of(lambda: fetch("next")) == code


@pytest.mark.parametrize("value", ['{"x": 1}', "[1]", "true", '"\\ud800"'])
@pytest.mark.parametrize("style", ["cursor", "next"])
def test_a_next_page_that_cannot_be_read_is_not_the_end(
    service: Service, fetch: Callable[..., Reading], style: str, value: str
) -> None:
    body = f'{{"data": [{{"id": 1}}], "meta": {{"next": {value}}}, "next": {value}}}'
    service.replies.append((200, {}, body))
    assert code_of(lambda: fetch(style)) == "http_api.next_unreadable"


@pytest.mark.parametrize("url", ["http://[bad", "http://x:99999/"])
def test_an_address_that_is_none_is_refused(service: Service, fetch: Callable[..., Reading], url: str) -> None:
    service.replies.append((200, {}, json.dumps({"data": [{"id": 1}], "next": url})))
    assert code_of(lambda: fetch("next")) == "http_api.next_unreadable"
    service.replies.append((302, {"Location": url}, ""))
    assert code_of(lambda: fetch("next")) == "source.redirect_refused"


def test_a_redirect_that_drops_the_parameters_is_refused(service: Service, fetch: Callable[..., Reading]) -> None:
    """It would return records that were not asked for."""
    service.replies.append((301, {"Location": "all"}, ""))
    assert code_of(lambda: fetch("all", parameters={"status": "paid"})) == "source.redirect_refused"
    service.replies.append((301, {"Location": "all?status=paid"}, ""))
    secret = service.connection(parameters="api_key=s3cret")
    assert fetch("all", parameters={"status": "paid"}, connection=secret).records == 10


@pytest.mark.parametrize(
    ("style", "reply"),
    [
        ("all", (200, {"Link": '</v1/all?page=2>; rel="next"'}, '[{"id": 1}]')),
        ("cursor", (200, {"Link": '</v1/all?page=2>; rel="next"'}, '{"data": [{"id": 1}]}')),
        ("all", (206, {"Content-Range": "0-0/5"}, '[{"id": 1}]')),
    ],
)
def test_pages_that_nobody_would_ask_for_are_reported(
    service: Service, fetch: Callable[..., Reading], style: str, reply: Reply
) -> None:
    service.replies.append(reply)
    assert code_of(lambda: fetch(style)) == "http_api.more_pages"


@pytest.mark.parametrize(
    ("style", "config", "warns"),
    [
        ("all", {}, True),  # nobody has set pages
        ("cursor", {"pages": {**PAGES["cursor"], "path": "$.meta.nxt"}}, True),
        ("cursor", {"pages": {**PAGES["cursor"], "path": "$.meta.nxt"}, "parameters": {"limit": "7"}}, True),
        ("cursor", {"pages": {**PAGES["cursor"], "path": "$.meta.nxt"}, "total": "$.meta.total"}, False),
        ("cursor", {}, False),  # the service says that there is none
        ("next", {}, False),
        ("link", {}, True),
        ("page", {}, False),
    ],
)
def test_a_page_that_may_not_be_the_only_one_is_reported(
    service: Service, tmp_path: Path, style: str, config: dict[str, Any], warns: bool
) -> None:
    service.page_size = 20
    source = source_of(service, style, tmp_path, **config)
    with ExitStack() as stack:
        source.open(stack)
        source.reading()
        assert [one.code for one in source.warnings] == (["http_api.only_one_page"] if warns else [])


def test_an_object_instead_of_the_list_is_a_record_only_if_it_is_alone(
    service: Service, fetch: Callable[..., Reading]
) -> None:
    reply = (200, {}, '{"error": "quota"}')
    service.replies.extend([reply] * 3)
    assert fetch("all").records == 1
    assert code_of(lambda: fetch("all", pages=PAGES["page"])) == "http_api.no_records"
    assert code_of(lambda: fetch("all", incremental=SINCE)) == "http_api.no_records"


@pytest.mark.parametrize("body", ['{"data": null, "errors": [{"code": 5}]}', '{"error": "quota", "data": []}'])
def test_an_error_without_records_is_not_the_last_page(
    service: Service, fetch: Callable[..., Reading], body: str
) -> None:
    service.replies.extend([(200, {}, '{"data": [{"id": 1}], "errors": []}'), (200, {}, body)])
    assert code_of(lambda: fetch("page")) == "http_api.error_response"
    service.replies.append((200, {}, '{"data": [], "errors": [], "error": null}'))
    assert fetch("page").records == 0


def test_a_response_without_content_has_no_records(service: Service, fetch: Callable[..., Reading]) -> None:
    service.replies.append((204, {}, ""))
    assert fetch("cursor").records == 0


def test_no_list_is_no_record(service: Service, fetch: Callable[..., Reading]) -> None:
    service.replies.append((200, {}, '{"data": null}'))
    assert fetch("next").records == 0


def test_a_service_that_ignores_the_page_is_found_out(service: Service, fetch: Callable[..., Reading]) -> None:
    same = json.dumps({"data": [{"id": 1}]})
    service.replies.extend([(200, {}, same)] * 2)
    assert code_of(lambda: fetch("page")) == "http_api.pages_repeat"


def test_the_same_records_with_another_envelope_are_the_same_page(
    service: Service, fetch: Callable[..., Reading]
) -> None:
    service.replies.extend((200, {}, json.dumps({"data": [{"id": 1}], "request": n})) for n in range(2))
    assert code_of(lambda: fetch("page")) == "http_api.pages_repeat"


def test_a_cursor_that_comes_again_is_found_out(service: Service, fetch: Callable[..., Reading]) -> None:
    service.replies.extend((200, {}, json.dumps({"data": [{"id": n}], "meta": {"next": "c"}})) for n in range(3))
    assert code_of(lambda: fetch("cursor")) == "http_api.pages_repeat"


def test_a_number_of_records_that_differs_fails(service: Service, fetch: Callable[..., Reading]) -> None:
    assert fetch("cursor", total="$.meta.total").records == 10
    service.replies.append((200, {}, json.dumps({"data": [{"id": 1}], "meta": {"total": 2}})))
    assert code_of(lambda: fetch("cursor", total="$.meta.total")) == "http_api.count_differs"


def pages_of(*totals: object) -> list[Reply]:
    """Return pages with one record each and with these totals; the last one has no record."""
    metas = [{} if total is None else {"total": total} for total in totals]
    data = [[{"id": n}] for n in range(1, len(totals))] + [[]]
    return [(200, {}, json.dumps({"data": d, "meta": meta})) for d, meta in zip(data, metas, strict=True)]


@pytest.mark.parametrize("totals", [(2, 2, 2), ("2", 2.0, 0), (2, None, None), (1, 2, None)])
def test_the_number_of_records_has_several_forms(
    service: Service, fetch: Callable[..., Reading], totals: tuple[object, ...]
) -> None:
    service.replies.extend(pages_of(*totals))
    assert fetch("page", total="$.meta.total").records == 2


@pytest.mark.parametrize("totals", [(3, 2, 2), ("two", "two", "two"), (None, None, None)])
def test_a_number_of_records_that_falls_or_is_none_fails(
    service: Service, fetch: Callable[..., Reading], totals: tuple[object, ...]
) -> None:
    """A record that was deleted moves another one to a page that was read before."""
    service.replies.extend(pages_of(*totals))
    assert code_of(lambda: fetch("page", total="$.meta.total")) == "http_api.count_differs"


def test_a_record_that_is_no_object_is_rejected(service: Service, fetch: Callable[..., Reading]) -> None:
    service.replies.append((200, {}, '[{"id": 1}, 5, {"id": 2}]'))
    reading = fetch("all")
    assert (reading.records, ids(reading)) == (3, [1, 2])


# --- the spool ----------------------------------------------------------------------------------------------------


def test_a_preview_ends_at_its_limit(service: Service, fetch: Callable[..., Reading]) -> None:
    assert ids(fetch("page", limit=RowLimit(4))) == [1, 2, 3, 4]
    assert len(service.requests) == 2


def test_a_preview_ends_after_its_time(service: Service, tmp_path: Path) -> None:
    source = source_of(service, "page", tmp_path, limit=RowLimit(100), total="$.meta.total")
    source.context = replace(source.context, most_seconds=0.000_001)
    with ExitStack() as stack:
        source.open(stack)
        assert ids(source.reading()) == [1, 2, 3]


def test_a_random_preview_picks_among_the_first_rows(service: Service, fetch: Callable[..., Reading]) -> None:
    picked = [tuple(ids(fetch("page", limit=RowLimit(2, random_of=9)))) for _ in range(12)]
    assert all(len(pair) == 2 and pair[0] < pair[1] <= 9 for pair in picked)
    assert len(set(picked)) > 1


def test_fetched_rows_are_deleted_at_the_end(service: Service, tmp_path: Path) -> None:
    source = source_of(service, "all", tmp_path)
    with ExitStack() as stack:
        source.open(stack)
        source.reading()
        (folder,) = (tmp_path / ".spool").iterdir()
        assert folder.stat().st_mode & 0o077 == 0
        assert len(list(folder.iterdir())) == 1
    assert list((tmp_path / ".spool").iterdir()) == []


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_spool_that_cannot_be_used_says_why(service: Service, tmp_path: Path, kind: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "old").mkdir(parents=True)
    os.utime(elsewhere / "old", (0, 0))
    folder = tmp_path / "files" / "default"
    folder.mkdir(parents=True)
    if kind == "file":
        (folder / ".spool").touch()
    else:
        (folder / ".spool").symlink_to(elsewhere)
    with ExitStack() as stack:
        assert code_of(lambda: source_of(service, "all", folder).open(stack)) == "source.spool_failed"
    assert sweep_spools(tmp_path / "files", lambda run_id: False) == []
    assert (elsewhere / "old").exists()


def test_a_full_disk_ends_the_run(service: Service, tmp_path: Path) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    source = source_of(service, "all", tmp_path)
    service.records = [{"id": n, "note": "x" * 1000} for n in range(100)]
    with ExitStack() as stack:
        source.open(stack)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
            assert code_of(source.reading) == "source.spool_failed"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert list((tmp_path / ".spool").iterdir()) == []
