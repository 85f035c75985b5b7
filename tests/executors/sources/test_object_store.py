"""Claims, archives and failures of object stores, on a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from executors.errors import Failure, Terminal, Transient
from executors.model import StoreConnection
from executors.sources import object_store
from executors.sources.base import Claimant
from executors.sources.object_store import ObjectStore
from executors.stores import open_store
from executors.stores.claims import Claims
from executors.stores.opendal_store import OpendalStore
from executors.stores.probing import list_store, probe_store
from tests.connectors.object_sources import LATER, code_of, only, source_of
from tests.connectors.object_storage import ObjectStorage
from tests.connectors.server import StoreServer, new_server
from tests.connectors.storages import OBJECT_STORES, object_storage

pytestmark = pytest.mark.slow


@pytest.fixture(params=OBJECT_STORES)
def storage(request: pytest.FixtureRequest) -> ObjectStorage:
    return object_storage(request.param)


def test_a_claim_names_its_owner_and_hides_the_file_from_others(storage: ObjectStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    first, second = source_of(storage), source_of(storage, pipeline="others")
    listed = only(second)
    assert first.claim(only(first))
    assert second.claim(listed) is None
    assert list(second.find_files(LATER)) == []
    assert second.claimed_by(LATER) == ("orders",)
    first.requeue(only(first))
    assert second.claim(only(second))


def test_a_pipeline_of_the_same_name_in_another_workspace_takes_no_claim_over(storage: ObjectStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    ours, theirs = source_of(storage), source_of(storage, token=99, tenant="b")
    claimed = ours.claim(only(ours))
    assert claimed
    assert theirs.claim(claimed) is None
    assert list(theirs.find_files(LATER)) == []
    assert theirs.list_claimed(LATER) == ()
    assert theirs.claimed_by(LATER) == ("orders of another workspace",)
    ours.archive(claimed, succeeded=True)
    assert storage.exists(".done/a.csv")


def test_of_many_claimants_one_gets_the_file(storage: ObjectStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    sources = [source_of(storage, pipeline=f"p{i}", run=f"r{i}") for i in range(16)]
    files = [only(source) for source in sources]
    won: list[int] = []

    def claim(i: int) -> None:
        if sources[i].claim(files[i]):
            won.append(i)

    threads = [threading.Thread(target=claim, args=(i,)) for i in range(len(sources))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_a_later_attempt_takes_over_and_an_earlier_one_cannot_archive(storage: ObjectStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    early, late = source_of(storage, token=1, run="r1"), source_of(storage, token=2, run="r2")
    held = early.claim(only(early))
    assert held
    (taken,) = late.list_claimed(LATER)
    assert late.claim(taken)
    assert early.claim(taken) is None
    assert code_of(lambda: early.archive(held, True)) == "source.changed"
    late.archive(taken, True)
    assert (storage.exists("a.csv"), storage.exists(".done/a.csv"), storage.claimed("a.csv")) == (False, True, False)


def test_an_archive_replaces_no_other_file(storage: ObjectStorage) -> None:
    for content in (b"id\n1\n", b"id\n2\n"):
        storage.write("a.csv", content)
        source = source_of(storage)
        file = source.claim(only(source))
        assert file
        source.archive(file, True)
    read = [storage.client.read_small(f"{storage.path}.done/{name}") for name in ("a.csv", "a_2.csv")]
    assert [found[0] for found in read if found] == [b"id\n1\n", b"id\n2\n"]


class PowerCut(BaseException):
    pass


@pytest.mark.parametrize("step", ["create", "replace", "copy", "delete"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("changes", [False, True], ids=["the same day", "the next day"])
def test_an_archive_that_was_cut_off_is_finished_once(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch, step: str, after: bool, changes: bool
) -> None:
    days = iter(range(1, 32))
    if changes:
        monkeypatch.setattr(object_store, "without_tokens", lambda folder: "")
        monkeypatch.setattr(ObjectStore, "_expanded", lambda self, _: f"{self._folder}.done/{next(days)}/")
    storage.write("a.csv", b"id\n1\n")
    source = source_of(storage, token=1)
    file = source.claim(only(source))
    assert file
    call = getattr(OpendalStore, step)

    def cut(*args: object, **more: object) -> object:
        if after:
            call(*args, **more)
        raise PowerCut

    with monkeypatch.context() as patch:
        patch.setattr(OpendalStore, step, cut)
        with suppress(PowerCut):
            source.archive(file, True)
    again = source_of(storage, token=2, run="second")
    for left in again.list_claimed(LATER):
        claimed = again.claim(left)
        assert claimed
        again.archive(claimed, True)
    folders = [f"{storage.path}.done/{day}/" for day in range(1, 4)] if changes else [f"{storage.path}.done/"]
    (name,) = [entry.path.removeprefix(storage.path) for folder in folders for entry in storage.client.list(folder)]
    assert name in ([f".done/{day}/a.csv" for day in (1, 2)] if changes else [".done/a.csv"])
    found = storage.client.read_small(f"{storage.path}{name}")
    assert found
    assert found[0] == b"id\n1\n"
    assert not storage.exists("a.csv")


def test_an_object_that_replaces_a_claimed_one_stays(storage: ObjectStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    source = source_of(storage)
    file = source.claim(only(source))
    assert file
    storage.write("a.csv", b"id\n2\n")
    assert code_of(lambda: source.archive(file, True)) == "source.changed"
    found = storage.client.read_small(f"{storage.path}a.csv")
    assert found
    assert found[0] == b"id\n2\n"
    assert not storage.claimed("a.csv")


def test_a_claim_of_a_replaced_object_is_refused_and_released(storage: ObjectStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    source = source_of(storage)
    listed = only(source)
    storage.write("a.csv", b"id\n22\n")
    assert code_of(lambda: source.claim(listed)) == "source.changed"
    assert not storage.claimed("a.csv")


def test_a_part_of_a_replaced_object_is_never_mixed(storage: ObjectStorage) -> None:
    storage.write("big.csv", b"a" * (20 << 20))
    source = source_of(storage)
    with source.store.open(only(source)) as stream:
        assert stream.read(10) == b"a" * 10
        storage.write("big.csv", b"b" * (20 << 20))
        stream.seek(15 << 20)
        with pytest.raises(Transient, match=r"^source\.changed"):
            stream.read(10)


def test_a_server_that_replaces_what_must_not_exist_is_refused(
    storage: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.write("a.csv", b"id\n1\n")
    source = source_of(storage)
    file = only(source)
    monkeypatch.setattr(
        type(storage.client), "create", lambda self, path, content: bool(self._client.write(path, content)) or True
    )
    assert code_of(lambda: source.claim(file)) == "source.not_exclusive"


def test_a_reader_cannot_claim_but_reads(storage: ObjectStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    reader = source_of(storage, connection=storage.server.connection("reader"))
    file = only(reader)
    with reader.store.open(file) as stream:
        assert stream.read() == b"id\n1\n"
    assert code_of(lambda: reader.claim(file)) == "source.permission_denied"


@pytest.mark.parametrize(
    ("connection", "code", "kind"),
    [
        (lambda server: server.connection("stranger"), "source.permission_denied", Terminal),
        (lambda server: server.connection("nobody"), "source.", Terminal),
        (lambda server: server.connection(bucket="missing", container="missing"), "source.", Terminal),
        (lambda server: server.connection(endpoint="http://127.0.0.1:9"), "source.store_unreachable", Transient),
    ],
    ids=["no permission", "unknown key", "no bucket", "nothing listens"],
)
def test_a_store_that_cannot_be_used_says_why(
    storage: ObjectStorage, connection: Callable[[StoreServer], StoreConnection], code: str, kind: type[Failure]
) -> None:
    source = source_of(storage, connection=connection(storage.server))
    with pytest.raises(kind) as failure:
        list(source.find_files(LATER))
    assert failure.value.code.startswith(code)
    assert "secret" not in str(failure.value).lower()
    assert failure.value.__cause__ is None


def test_a_test_of_a_connection_finds_the_permissions(storage: ObjectStorage) -> None:
    storage.client.create("in-the-root.csv", b"id\n")
    writer = probe_store(storage.server.connection())
    assert (writer.can_read, writer.can_move) == (True, True)
    reader = probe_store(storage.server.connection("reader"))
    assert (reader.can_read, reader.can_move) == (True, False)
    assert "cannot be written" in reader.notes[-1]


@pytest.mark.parametrize("storage", sorted(OBJECT_STORES.keys() - {"gcs"}), indirect=True)  # It repeats folders.
def test_a_folder_is_shown_in_pages(storage: ObjectStorage) -> None:
    for i in range(7):
        storage.write(f"{i}.csv", b"id\n")
    storage.write("sub/x.csv", b"id\n")
    seen, after = [], ""
    for _ in range(10):
        page = list_store(storage.connection, storage.path, after, 3)
        seen += [entry.name for entry in page.entries]
        after = page.after
        if not after:
            break
    assert seen == [*(f"{i}.csv" for i in range(7)), "sub"]


@pytest.fixture(params=OBJECT_STORES)
def own_server(request: pytest.FixtureRequest) -> Iterator[StoreServer]:
    server = new_server(OBJECT_STORES[request.param])
    yield server
    server.stop()


def test_a_server_that_stops_and_returns_is_read_again(own_server: StoreServer) -> None:
    storage = ObjectStorage(own_server)
    storage.write("a.csv", b"id\n1\n")
    source = source_of(storage)
    file = only(source)
    own_server.stop()
    assert code_of(lambda: only(source)) == "source.store_unreachable"
    own_server.start()
    with source.store.open(file) as stream:
        assert stream.read() == b"id\n1\n"


def test_claims_of_an_unknown_form_belong_to_another(storage: ObjectStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    storage.write(".flow-claims/a.csv", b"not JSON")
    store = open_store(storage.connection)
    assert isinstance(store, OpendalStore)
    claims = Claims(store, storage.path, "src", Claimant("orders", frozenset(["src"]), "run", 1))
    assert not claims.take("a.csv", "v")
    assert list(source_of(storage).find_files(LATER)) == []
