"""Google Cloud Storage: tokens, and conditions of a server that does not have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from executors.errors import Terminal, Transient
from executors.model import StoreConnection
from executors.stores import open_store
from executors.stores.probing import probe_store
from tests.connectors.object_sources import code_of, only, source_of
from tests.connectors.object_storage import ObjectStorage
from tests.connectors.proxy import Proxy, Request, down
from tests.connectors.storages import object_storage

pytestmark = pytest.mark.slow


def without_conditions(request: Request) -> None:
    """A rule: the server never sees conditions."""
    address = urlsplit(request.path)
    others = [pair for pair in address.query.split("&") if not pair.startswith("ifGenerationMatch=")]
    request.path = f"{address.path}?{'&'.join(others)}"


@pytest.fixture
def storage() -> Iterator[ObjectStorage]:
    storage = object_storage("gcs")
    storage.proxy = Proxy(storage.server.port)
    yield storage
    storage.proxy.close()


def test_a_server_that_ignores_conditions_gives_no_claims(storage: ObjectStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    assert storage.proxy
    storage.proxy.rules.append(without_conditions)
    source = source_of(storage)
    assert code_of(lambda: source.claim(only(source))) == "source.not_exclusive"
    found = probe_store(storage.connection)
    assert not found.can_move
    assert "does not exclude that two runs claim one file" in found.notes[-1]


def test_one_token_serves_all_requests_until_it_expires(storage: ObjectStorage) -> None:
    assert storage.proxy
    connection = storage.server.connection()
    key = {**json.loads(connection.secrets["serviceAccount"]), "token_uri": f"{storage.proxy.endpoint}/token"}
    store = open_store(StoreConnection("files", "gcs", connection.settings, {"serviceAccount": json.dumps(key)}))
    for _ in range(3):
        list(store.list(storage.path))
    assert [request.path for request in storage.proxy.requests] == ["/token"]


def test_an_unreachable_token_server_is_retried_later(storage: ObjectStorage) -> None:
    assert storage.proxy
    storage.proxy.rules.append(down)
    connection = storage.server.connection()
    key = {**json.loads(connection.secrets["serviceAccount"]), "token_uri": f"{storage.proxy.endpoint}/token"}
    store = open_store(StoreConnection("files", "gcs", connection.settings, {"serviceAccount": json.dumps(key)}))
    with pytest.raises(Transient, match=r"^source\.store_unreachable.*access token") as failure:
        store.stat("a")
    assert failure.value.__cause__ is None


@pytest.mark.parametrize(
    "key",
    [
        "no JSON",
        "[]",
        json.dumps({"type": "external_account", "credential_source": {"file": "/etc/passwd"}}),
        json.dumps(
            {"type": "service_account", "client_email": "a@b", "private_key": "no PEM", "token_uri": "http://t"}
        ),
    ],
)
def test_other_keys_are_unusable_and_not_repeated(key: str) -> None:
    connection = StoreConnection("files", "gcs", {"bucket": "b", "endpoint": ""}, {"serviceAccount": key})
    with pytest.raises(Terminal, match=r"^source\.store_unusable") as refusal:
        open_store(connection)
    assert "no PEM" not in refusal.value.message
