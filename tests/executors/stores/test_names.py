"""Objects with unusual names are read, claimed and archived exactly, or refused by name."""

from __future__ import annotations

from urllib.parse import quote

import httpx
import pytest

from executors.errors import Terminal
from tests.connectors.azure_blob.server import ACCOUNT, CONTAINER, sas_token
from tests.connectors.object_sources import LATER, only, source_of
from tests.connectors.object_storage import ObjectStorage
from tests.connectors.storages import OBJECT_STORES, object_storage

pytestmark = pytest.mark.slow

NAMES = {
    "blanks": "a  b.csv",
    "a blank first": " a.csv",
    "percent": "a%20b%.csv",
    "plus": "a+b.csv",
    "composed": "\u00e4.csv",
    "decomposed": "a\u0308.csv",
    "kanji": "\u65e5\u672c.csv",
    "emoji": "\U0001f600.csv",
    "url": "a?b=c&d#e;f.csv",
    "quotes": "a'b\"c.csv",
    "dots": "..a..b.csv",
    "brackets": "a[1]{2}(3)*.csv",
    "others": "a:b|c~d$e@f!g,h=i.csv",
    "xml": "a<b>&amp;.csv",
    "newline": "a\nb.csv",
}
ALL = {"type": "regex", "value": "(?s).*"}


@pytest.fixture(params=OBJECT_STORES)
def storage(request: pytest.FixtureRequest) -> ObjectStorage:
    return object_storage(request.param)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_an_object_is_listed_read_claimed_and_archived_under_its_name(storage: ObjectStorage, name: str) -> None:
    storage.write(name, b"id\n1\n")
    source = source_of(storage, pattern=ALL)
    file = source.claim(only(source))
    assert file
    assert file.name == storage.path + name
    with source.store.open(file) as stream:
        assert stream.read() == b"id\n1\n"
    assert storage.claimed(name)
    source.archive(file, succeeded=True)
    assert [entry.path for entry in storage.client.list(f"{storage.path}.done/")] == [f"{storage.path}.done/{name}"]
    assert (storage.exists(name), storage.claimed(name)) == (False, False)


@pytest.mark.parametrize("name", ["a.csv ", "a.csv\n", "a.csv\u00a0", ".."])
def test_a_name_that_cannot_be_requested_is_refused(name: str) -> None:
    """The client would take `a.csv ` for `a.csv`, which would then be read twice."""
    storage = object_storage("azure_blob")
    storage.write("a.csv", b"id\n1\n")
    path = f"{ACCOUNT}/{CONTAINER}/{storage.path}{quote(name).replace('.', '%2E')}"
    headers = {"x-ms-blob-type": "BlockBlob", "x-ms-version": "2022-11-02"}
    url = f"{storage.server.endpoint}/{path}?{sas_token('rwdlac')}"
    assert httpx.put(url, content=b"id\n2\n", headers=headers).status_code == 201
    with pytest.raises(Terminal, match=r"^source\.name_unusable") as refusal:
        list(source_of(storage, pattern=ALL).find_files(LATER))
    assert repr(name)[1:-1] in refusal.value.message
    assert only(source_of(storage, pattern={"type": "glob", "value": "*.csv"})).name == f"{storage.path}a.csv"
