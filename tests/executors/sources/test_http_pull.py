"""Files of web servers: which address is asked, with which secrets, and how files stay whole. On a real server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from executors.errors import Failure, Terminal, Transient
from executors.formats.files import sha256_of
from executors.model import SourceFile, StoreConnection
from executors.sources.base import Claimant, SourceContext
from executors.sources.http_pull import HttpPull
from executors.stores.http import WHOLE_BYTES
from executors.stores.probing import list_store, probe_store
from ir.nodes import Source
from tests.connectors.http_pull.server import new_server, reply
from tests.connectors.http_pull.storage import WebStorage

LATER = 4e9


@pytest.fixture
def storage() -> Iterator[WebStorage]:
    server = new_server()
    yield WebStorage(server, name="in")
    server.end()


def source_of(storage: WebStorage, connection: StoreConnection | None = None, **config: Any) -> HttpPull:
    place = {} if {"url", "urls"} & set(config) else {"index": storage.path}
    settings = {"format": {"type": "csv"}, **place, **config}
    node = Source(id="src", kind="source", connector="http_pull", connection="files", config=settings)
    return HttpPull(node, SourceContext(Path(), Claimant("orders", frozenset(["src"])), store=connection))


def own(storage: WebStorage, **config: Any) -> HttpPull:
    """A source with a connection to the server, which is in a private network."""
    return source_of(storage, storage.connection, **config)


def names(source: HttpPull) -> list[str]:
    return sorted(file.name.rpartition("/")[2] for file in source.find_files(LATER))


def only(source: HttpPull) -> SourceFile:
    (file,) = source.find_files(LATER)
    return file


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(Failure) as failure:
        action()
    assert failure.value.__cause__ is None
    assert "s3cret" not in str(failure.value)
    return failure.value.code


def read(source: HttpPull, file: SourceFile) -> bytes:
    with source.store.open(file) as stream:
        return stream.read()


# --- which files --------------------------------------------------------------------------------------------------


def test_one_file_several_files_and_an_index_are_read(storage: WebStorage) -> None:
    for name in ("a.csv", "b c.csv", "d.txt"):
        storage.write(name, name.encode())
    assert names(own(storage, url=f"{storage.path}a.csv")) == ["a.csv"]
    assert names(own(storage, urls=[f"{storage.path}a.csv", f"{storage.path}missing.csv"])) == ["a.csv"]
    indexed = own(storage, pattern={"type": "glob", "value": "*.csv"})
    assert names(indexed) == ["a.csv", "b c.csv"]
    assert {read(indexed, file) for file in indexed.find_files(LATER)} == {b"a.csv", b"b c.csv"}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html; charset=utf-8", b"<a href=a.csv>a</a><A HREF='a.csv#x'>a</A>"),
        ("application/json", json.dumps(["a.csv"]).encode()),
        ("application/json", json.dumps([{"name": "a.csv", "type": "file"}]).encode()),
        ("text/plain", b"a.csv\n\n"),
    ],
    ids=["html", "json", "json of a server", "lines"],
)
def test_an_index_has_several_forms(storage: WebStorage, kind: str, body: bytes) -> None:
    storage.write("a.csv", b"id\n1\n")
    storage.server.answers["/in/"] = reply(200, body, Content_Type=kind)
    assert names(own(storage)) == ["a.csv"]


@pytest.mark.parametrize(
    "link",
    [
        "/other/a.csv",
        "../a.csv",
        "%2e%2e/a.csv",
        "%252e%252e/a.csv",
        "..\\a.csv",
        "http://other.example/in/a.csv",
        "//other.example/in/a.csv",
        "ftp://127.0.0.1/in/a.csv",
        "javascript:alert(1)",
        "?C=N;O=D",
        "sub/",
        "http://[",
    ],
)
def test_links_elsewhere_are_not_files(storage: WebStorage, link: str) -> None:
    storage.write("a.csv", b"id\n1\n")
    body = f"<a href='{link}'>x</a><a href=a.csv>a</a>".encode()
    storage.server.answers["/in/"] = reply(200, body, Content_Type="text/html")
    assert names(own(storage)) == ["a.csv"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (reply(200, b"{}", Content_Type="application/json"), "source.index_unreadable"),
        (reply(200, b"[1]", Content_Type="application/json"), "source.index_unreadable"),
        (reply(200, b"x", Content_Type="application/pdf"), "source.index_unreadable"),
        (reply(404), "source.path_missing"),
        (reply(401), "source.credentials_refused"),
        (reply(403), "source.permission_denied"),
        (reply(400), "source.store_failed"),
        (reply(503), "source.store_unreachable"),
        (reply(429), "source.store_unreachable"),
    ],
)
def test_a_page_that_cannot_be_used_says_why(storage: WebStorage, answer: Any, code: str) -> None:
    storage.server.answers["/in/"] = answer
    assert code_of(lambda: names(own(storage))) == code


# --- addresses and secrets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "2130706433", "0x7f.1"])
def test_without_a_connection_only_public_addresses_are_asked(storage: WebStorage, host: str) -> None:
    source = source_of(storage, url=f"http://{host}:{storage.server.port}/in/a.csv")
    assert code_of(lambda: names(source)) == "source.not_public"
    assert storage.server.requests == []


def test_a_connection_opens_its_own_server_only(storage: WebStorage) -> None:
    other = new_server()
    try:
        assert code_of(lambda: names(own(storage, url=f"{other.url}a.csv"))) == "source.not_public"
        storage.server.answers["/in/a.csv"] = reply(302, Location=f"{other.url}a.csv")
        assert code_of(lambda: names(own(storage, url=f"{storage.path}a.csv"))) == "source.not_public"
        assert other.requests == []
    finally:
        other.end()


@pytest.mark.parametrize(
    ("user", "secrets", "sent"),
    [
        ("flow", {"password": "s3cret"}, ("authorization", "Basic ZmxvdzpzM2NyZXQ=")),
        ("", {"token": "s3cret"}, ("authorization", "Bearer s3cret")),
        ("", {"headers": "X-Api-Key: s3cret\n"}, ("x-api-key", "s3cret")),
    ],
    ids=["basic", "bearer", "header"],
)
def test_secrets_are_sent_below_the_address_of_the_connection_only(
    storage: WebStorage, user: str, secrets: dict[str, str], sent: tuple[str, str]
) -> None:
    storage.write("a.csv", b"id\n1\n")
    (storage.server.folder / "outside.csv").write_bytes(b"id\n1\n")
    connection = storage.server.connection("in", user, **secrets)
    storage.server.answers["/in/moved.csv"] = reply(307, Location="/outside.csv")
    for path in ("in/a.csv", "outside.csv", "in/moved.csv", "in/%2e%2e/outside.csv", "inside.csv"):
        list(source_of(storage, connection, url=f"{storage.server.url}{path}").find_files(LATER))
    got = [path for path, headers in storage.server.requests if headers.get(sent[0]) == sent[1]]
    assert got == ["/in/a.csv", "/in/moved.csv"]
    assert "s3cret" not in repr(connection)


def test_wrong_credentials_and_headers_are_refused(storage: WebStorage) -> None:
    storage.server.credentials = "Bearer right"
    wrong = source_of(storage, storage.server.connection(token="s3cret"), url=f"{storage.path}a.csv")
    assert code_of(lambda: only(wrong)) == "source.credentials_refused"
    for secrets in ({"headers": "Host: s3cret"}, {"headers": "s3cret"}, {"token": "s3cret\n"}, {"headers": "A: \x01"}):
        bad = source_of(storage, storage.server.connection(**secrets), url=f"{storage.path}a.csv")
        assert code_of(lambda bad=bad: only(bad)) == "source.store_unusable"


def test_redirects_are_followed_within_limits(storage: WebStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    storage.server.answers["/in/moved.csv"] = reply(302, Location="a.csv")
    moved = own(storage, url=f"{storage.path}moved.csv")
    assert read(moved, only(moved)) == b"id\n1\n"
    storage.server.answers["/in/loop.csv"] = reply(302, Location="loop.csv")
    assert code_of(lambda: only(own(storage, url=f"{storage.path}loop.csv"))) == "source.redirect_refused"
    assert len(storage.server.requests) < 20


# --- whole files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "server",
    [
        {},
        {"has_etag": False},
        {"has_etag": False, "has_time": False},
        {"has_ranges": False},
        {"has_ranges": False, "has_etag": False, "has_time": False, "has_length": False},
    ],
    ids=["all", "time", "parts without version", "no parts", "nothing"],
)
def test_a_small_file_is_read_from_any_server(storage: WebStorage, server: dict[str, bool]) -> None:
    for name, value in server.items():
        setattr(storage.server, name, value)
    for content in (b"id\n1\n", b""):
        storage.write("a.csv", content)
        source = own(storage)
        file = only(source)
        assert (read(source, file), file.size) == (content, len(content))
        assert sha256_of(file, source.store)
    storage.write("a.csv", b"longer")
    with pytest.raises(Transient, match=r"^source\.changed"):
        read(source, file)


@pytest.mark.parametrize("server", [{"has_ranges": False}, {"has_etag": False, "has_time": False}])
def test_a_large_file_needs_a_server_with_parts_of_one_version(storage: WebStorage, server: dict[str, bool]) -> None:
    storage.write("a.csv", b"x" * (WHOLE_BYTES + 1))
    for name, value in server.items():
        setattr(storage.server, name, value)
    assert code_of(lambda: only(own(storage))) == "source.no_ranges"


@pytest.mark.parametrize("has_etag", [True, False])
def test_parts_of_two_versions_are_never_mixed(storage: WebStorage, has_etag: bool) -> None:
    storage.server.has_etag = has_etag
    storage.write("a.csv", b"a" * (20 << 20))
    source = own(storage)
    with source.store.open(only(source)) as stream:
        assert stream.read(10) == b"a" * 10
        storage.write("a.csv", b"b" * ((20 << 20) + (0 if has_etag else 1)))
        stream.seek(15 << 20)
        with pytest.raises(Transient, match=r"^source\.changed"):
            stream.read(10)


def test_a_response_that_breaks_off_is_not_taken_for_the_file(storage: WebStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    source = own(storage, url=f"{storage.path}a.csv")
    file = only(source)
    etag = str(file.version)
    short = {"Content_Range": "bytes 0-4/5", "Content_Length": "5", "ETag": etag}
    storage.server.answers["/in/a.csv"] = reply(206, b"id", **short)
    assert code_of(lambda: source._client.read(file, 0, 5)) == "source.store_unreachable"
    storage.server.answers["/in/a.csv"] = reply(206, b"id", ETag=etag, Content_Range="bytes 0-1/5")
    assert code_of(lambda: source._client.read(file, 0, 5)) == "source.no_ranges"
    storage.server.answers["/in/a.csv"] = reply(200, b"id", Content_Length="9")
    assert code_of(lambda: only(own(storage, url=f"{storage.path}a.csv"))) == "source.store_unreachable"


def test_a_content_encoding_is_not_asked_for_and_refused(storage: WebStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    source = own(storage)
    file = only(source)
    storage.server.encoding = "gzip"
    assert code_of(lambda: read(source, file)) == "source.content_encoded"
    assert {headers["accept-encoding"] for _, headers in storage.server.requests} == {"identity"}


def test_a_file_without_a_time_is_unsettled_until_it_was_seen_twice(storage: WebStorage) -> None:
    storage.server.has_time = False
    storage.write("a.csv", b"id\n1\n")
    source = own(storage)
    first = source.list_files(LATER, lambda files: ())
    assert (len(first.files), len(first.unsettled)) == (0, 1)
    assert len(source.list_files(LATER, lambda files: (), first.unsettled).files) == 1


def test_a_server_that_does_not_respond_is_transient(storage: WebStorage) -> None:
    source = own(storage, url=f"{storage.path}a.csv")
    storage.server.stop()
    assert code_of(lambda: only(source)) == "source.store_unreachable"
    storage.write("a.csv", b"id\n1\n")
    storage.server.start()
    assert only(source)


def test_a_test_of_a_connection_and_its_folders(storage: WebStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    (storage.folder / "sub").mkdir()
    found = probe_store(storage.server.connection("in"))
    assert (found.can_read, found.can_move) == (True, False)
    page = list_store(storage.server.connection(), "in/", "", 10)
    assert [entry.path for entry in page.entries] == ["in/a.csv", "in/sub/"]
    storage.server.credentials = "Bearer right"
    with pytest.raises(Terminal, match=r"^source\.credentials_refused"):
        probe_store(storage.server.connection(token="wrong"))
