"""The keys of a connection decide alone as whom a run reads, whatever the machine has."""

from __future__ import annotations

from pathlib import Path

import pytest

from executors.errors import Failure
from executors.stores import open_store
from tests.connectors.azure_blob.server import ACCOUNT, KEY, sas_token
from tests.connectors.storages import OBJECT_STORES, object_storage

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with working keys of another user."""
    key = tmp_path / "key.json"
    gcs = object_storage("gcs").server
    key.write_text(gcs.connection().secrets["serviceAccount"])
    values = {
        "AWS_ACCESS_KEY_ID": "writer-key",
        "AWS_SECRET_ACCESS_KEY": "writer-secret-0123456789",
        "AZBLOB_ACCOUNT_NAME": ACCOUNT,
        "AZBLOB_ACCOUNT_KEY": KEY,
        "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
        "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        "AZURE_STORAGE_SAS_TOKEN": sas_token("rwdlac"),
        "GOOGLE_APPLICATION_CREDENTIALS": str(key),
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("kind", "identity"), [*((kind, "nobody") for kind in OBJECT_STORES), ("azure_blob", "expired")]
)
def test_wrong_keys_are_refused_though_the_machine_has_right_ones(kind: str, identity: str) -> None:
    store = open_store(object_storage(kind).server.connection(identity))
    with pytest.raises(Failure, match=r"^source\.(credentials_refused|permission_denied)"):
        list(store.list(""))


@pytest.mark.parametrize("kind", OBJECT_STORES)
def test_the_keys_of_the_machine_are_not_used_beside_those_of_the_connection(kind: str) -> None:
    storage = object_storage(kind)
    storage.write("a.csv", b"id\n")
    reader = open_store(storage.server.connection("reader"))
    assert [entry.name for entry in reader.list(storage.path)] == ["a.csv"]
    with pytest.raises(Failure, match=r"^source\.permission_denied"):
        reader.create(f"{storage.path}b.csv", b"")  # type: ignore[attr-defined]
