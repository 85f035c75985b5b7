"""Claims, links, names and failures of SFTP servers, on a real server."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from executors.errors import Failure, Terminal, Transient
from executors.formats.files import sha256_of
from executors.model import SourceFile, StoreConnection
from executors.sources.base import Claimant, SourceContext
from executors.sources.sftp import SftpFiles
from executors.stores import open_store
from executors.stores.host_keys import read_host_key
from executors.stores.probing import list_store, probe_store, read_head
from executors.stores.sftp import BATCH, SftpStore
from ir.nodes import Source
from tests.connectors.sftp.server import PASSWORD, USER, SftpServer, new_server, shared_server
from tests.connectors.sftp.storage import SftpStorage

LATER = 4e9


@pytest.fixture
def storage() -> SftpStorage:
    storage = SftpStorage(shared_server())
    storage.make()
    return storage


@pytest.fixture
def own_server() -> Iterator[SftpServer]:
    server = new_server()
    yield server
    server.end()


@pytest.fixture
def own(own_server: SftpServer) -> SftpStorage:
    storage = SftpStorage(own_server)
    storage.make()
    return storage


def source_of(
    storage: SftpStorage,
    token: int | None = 1,
    pipeline: str = "orders",
    connection: StoreConnection | None = None,
    run: str = "run",
    tenant: str = "a",
    **config: Any,
) -> SftpFiles:
    settings = {
        "path": storage.path,
        "pattern": {"type": "glob", "value": "*.csv"},
        "format": {"type": "csv"},
        "atomicity": dict(storage.atomicity),
        **config,
    }
    settings = {name: value for name, value in settings.items() if value is not None}
    node = Source(id="src", kind="source", connector="sftp", connection="files", config=settings)
    claimant = Claimant(pipeline, frozenset(["src"]), run, token, tenant)
    return SftpFiles(node, SourceContext(Path(), claimant, store=connection or storage.connection))


def only(source: SftpFiles) -> SourceFile:
    (file,) = source.find_files(LATER)
    return file


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(Failure) as failure:
        action()
    assert PASSWORD not in str(failure.value)
    assert failure.value.__cause__ is None
    return failure.value.code


# --- claims -------------------------------------------------------------------------------------------------------


def test_a_claim_names_its_owner_and_takes_the_file_from_others(storage: SftpStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    first, second = source_of(storage), source_of(storage, pipeline="others")
    listed = only(second)
    claimed = first.claim(only(first))
    assert claimed
    assert claimed.path == f"{storage.path}.doing/orders.src.1.a.run/a.csv"
    assert second.claim(listed) is None
    assert list(second.find_files(LATER)) == []
    assert second.claimed_by(LATER) == ("orders",)
    first.requeue(claimed)
    assert second.claim(only(second))


def test_a_pipeline_of_the_same_name_in_another_workspace_takes_no_claim_over(storage: SftpStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    ours, theirs = source_of(storage), source_of(storage, token=99, tenant="b")
    claimed = ours.claim(only(ours))
    assert claimed
    assert list(theirs.find_files(LATER)) == []
    assert theirs.list_claimed(LATER) == ()
    assert theirs.claimed_by(LATER) == ("orders of another workspace",)
    ours.archive(claimed, succeeded=True)
    assert storage.exists(".done/a.csv")


@pytest.mark.slow
def test_of_many_claimants_one_gets_the_file(storage: SftpStorage) -> None:
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


def test_a_later_attempt_takes_over_and_an_earlier_one_cannot_archive(storage: SftpStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    early, late = source_of(storage, token=1, run="r1"), source_of(storage, token=2, run="r2")
    held = early.claim(only(early))
    assert held
    (left,) = late.list_claimed(LATER)
    taken = late.claim(left)
    assert taken
    assert code_of(lambda: early.claim(left)) == "source.changed"
    assert code_of(lambda: early.archive(held, True)) == "source.changed"
    late.archive(taken, True)
    assert (storage.exists("a.csv"), storage.exists(".done/a.csv"), storage.claimed("a.csv")) == (False, True, False)
    assert list((storage.folder / ".doing").iterdir()) == []


def test_an_archive_replaces_no_other_file(storage: SftpStorage) -> None:
    for content in (b"id\n1\n", b"id\n2\n"):
        storage.write("a.csv", content)
        source = source_of(storage)
        file = source.claim(only(source))
        assert file
        source.archive(file, True)
    read = [(storage.folder / ".done" / name).read_bytes() for name in ("a.csv", "a_2.csv")]
    assert read == [b"id\n1\n", b"id\n2\n"]


def test_a_requeued_file_replaces_no_new_one(storage: SftpStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    source = source_of(storage)
    claimed = source.claim(only(source))
    assert claimed
    storage.write("a.csv", b"id\n22\n")
    source.requeue(claimed)
    assert storage.claimed("a.csv")
    assert sorted(file.size for file in source.find_files(LATER)) == [5, 6]


def test_a_claim_of_a_replaced_file_is_refused(storage: SftpStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    source = source_of(storage)
    listed = only(source)
    storage.write("a.csv", b"id\n2\n")
    assert code_of(lambda: source.claim(listed)) == "source.changed"


@pytest.mark.slow
def test_a_server_that_cannot_move_a_file_in_one_step_is_refused(own: SftpStorage) -> None:
    own.write("a.csv", b"id\n1\n")
    own.server.renames = False
    source = source_of(own)
    assert code_of(lambda: source.claim(only(source))) == "source.not_exclusive"
    assert own.exists("a.csv")
    assert probe_store(own.connection).can_move is False


# --- reading ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_part_of_a_file_that_changes_is_never_read(storage: SftpStorage) -> None:
    storage.write("big.csv", b"a" * (20 << 20))
    source = source_of(storage)
    with source.store.open(only(source)) as stream:
        assert stream.read(10) == b"a" * 10
        storage.write("big.csv", b"b" * (20 << 20))
        stream.seek(15 << 20)
        with pytest.raises(Transient, match=r"^source\.changed"):
            stream.read(10)


@pytest.mark.slow
def test_a_large_folder_is_listed_whole(storage: SftpStorage) -> None:
    names = [f"{i:05}.csv" for i in range(2 * BATCH + 10)]
    for name in names:
        (storage.folder / name).write_bytes(b"")
    found = sorted(Path(file.path).name for file in source_of(storage).find_files(LATER))
    assert found == names


def test_a_folder_is_shown_in_pages(storage: SftpStorage) -> None:
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


@pytest.mark.parametrize("name", [b"a b.csv", "Zürich 'ö'.csv".encode(), b"\xff\xfe.csv", b"new\nline.csv"])
def test_any_name_of_a_file_is_read_claimed_and_archived(storage: SftpStorage, name: bytes) -> None:
    path = os.fsencode(storage.folder) + b"/" + name
    Path(os.fsdecode(path)).write_bytes(b"id\n1\n")
    source = source_of(storage)
    file = source.claim(only(source))
    assert file
    assert file.name.encode().decode() == file.name
    assert sha256_of(file, source.store)
    source.archive(file, True)
    assert os.listdir(os.fsencode(storage.folder / ".done")) == [name]


def test_links_are_followed_within_the_folder_of_the_connection_only(storage: SftpStorage, tmp_path: Path) -> None:
    (storage.folder.parent / "real.csv").write_bytes(b"id\n1\n")
    (storage.folder / "in.csv").symlink_to("../real.csv")
    in_place = source_of(storage, atomicity=None)
    with in_place.store.open(only(in_place)) as stream:
        assert stream.read() == b"id\n1\n"
    assert code_of(lambda: list(source_of(storage).find_files(LATER))) == "source.link_not_movable"
    inside = storage.server.connection(folder=storage.path)
    limited = source_of(storage, connection=inside, path="", atomicity=None)
    assert code_of(lambda: list(limited.find_files(LATER))) == "source.path_outside"
    for path in ("../real.csv", "/../real.csv", "in.csv"):
        assert code_of(lambda path=path: read_head(inside, path, 10)) == "source.path_outside"


def test_a_missing_folder_is_an_error(storage: SftpStorage) -> None:
    assert code_of(lambda: list(source_of(storage, path="nowhere").find_files(LATER))) == "source.path_missing"
    missing = source_of(storage, connection=storage.server.connection(folder="/nowhere"))
    assert code_of(lambda: list(missing.find_files(LATER))) == "source.store_missing"


# --- servers ------------------------------------------------------------------------------------------------------


def test_a_test_of_a_connection_finds_the_permissions(storage: SftpStorage) -> None:
    (storage.server.folder / "in-the-root.csv").write_bytes(b"id\n")
    writer = probe_store(storage.connection)
    assert (writer.can_read, writer.can_move) == (True, True)
    reader = probe_store(storage.server.connection(user="reader"))
    assert (reader.can_read, reader.can_move) == (True, False)
    assert "cannot be written" in reader.notes[-1]
    assert not list(storage.server.folder.glob(".flow-test*"))


def test_a_reader_cannot_claim_but_reads(storage: SftpStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    reader = source_of(storage, connection=storage.server.connection(user="reader"))
    file = only(reader)
    with reader.store.open(file) as stream:
        assert stream.read() == b"id\n1\n"
    assert code_of(lambda: reader.claim(file)) == "source.permission_denied"


def test_a_host_key_that_is_not_confirmed_gets_no_secret(storage: SftpStorage) -> None:
    before = storage.server.tried
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode().strip()
    changed = source_of(storage, connection=storage.server.connection(hostKey=other))
    with pytest.raises(Terminal, match=r"^source\.host_key_changed") as failure:
        only(changed)
    assert storage.server.fingerprint in str(failure.value)
    missing = source_of(storage, connection=storage.server.connection(hostKey=""))
    assert code_of(lambda: only(missing)) == "source.host_key_unconfirmed"
    shown = read_host_key(storage.connection)
    assert shown
    assert (shown.key, shown.fingerprint) == (storage.server.public_key, storage.server.fingerprint)
    assert storage.server.tried == before


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ecdsa-sha2-nistp256", "ssh-rsa"])
def test_a_server_that_shows_a_key_of_another_kind_has_changed(own: SftpStorage, kind: str) -> None:
    own.write("a.csv", b"id\n1\n")
    confirmed = own.connection
    own.server.stop()
    own.server.host_key = asyncssh.generate_private_key(kind)
    own.server.start()
    assert code_of(lambda: only(source_of(own, connection=confirmed))) == "source.host_key_changed"
    assert only(source_of(own))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"kex_algs": ["diffie-hellman-group1-sha1"]},
        {"encryption_algs": ["aes128-cbc"]},
        {"mac_algs": ["hmac-sha1"], "encryption_algs": ["aes128-ctr"]},
    ],
    ids=["key exchange", "cipher", "mac"],
)
def test_a_server_with_unsafe_algorithms_only_is_refused(options: dict[str, object]) -> None:
    server = new_server(**options)
    try:
        source = source_of(SftpStorage(server, path=""))
        # A server may end the connection before the client has read why.
        refusals = ("source.store_failed", "source.host_key_changed", "source.store_unreachable")
        assert code_of(lambda: only(source)) in refusals
        assert server.tried == 0
    finally:
        server.end()


@pytest.mark.slow
def test_a_private_key_with_a_passphrase_signs_in(storage: SftpStorage) -> None:
    storage.write("a.csv", b"id\n1\n")
    key = asyncssh.generate_private_key("ssh-ed25519")
    storage.server.client_keys.append(key.convert_to_public())
    text = key.export_private_key("openssh", "secret words").decode()
    public = storage.connection.settings
    good = StoreConnection("files", "sftp", public, {"privateKey": text, "passphrase": "secret words"})
    assert only(source_of(storage, connection=good))
    for secrets in ({"privateKey": text, "passphrase": "wrong"}, {"privateKey": "no key"}):
        bad = StoreConnection("files", "sftp", public, secrets)
        assert code_of(lambda bad=bad: only(source_of(storage, connection=bad))) == "source.store_unusable"


def test_a_wrong_password_is_refused(storage: SftpStorage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    wrong = StoreConnection("files", "sftp", storage.connection.settings, {"password": "wr0ng-secret"})
    assert code_of(lambda: only(source_of(storage, connection=wrong))) == "source.credentials_refused"
    assert "wr0ng-secret" not in caplog.text


def test_a_server_that_does_not_respond_is_transient(storage: SftpStorage) -> None:
    source = source_of(storage, connection=storage.server.connection(port=9))
    with pytest.raises(Transient, match=r"^source\.store_unreachable"):
        only(source)


@pytest.mark.slow
def test_a_server_that_stops_and_returns_is_read_again(own: SftpStorage) -> None:
    own.write("a.csv", b"id\n1\n")
    source = source_of(own)
    file = only(source)
    own.server.stop()
    assert code_of(lambda: only(source)) == "source.store_unreachable"
    own.server.start()
    with source.store.open(file) as stream:
        assert stream.read() == b"id\n1\n"
    own.server.cut()
    assert only(source) == file


@pytest.mark.slow
def test_revoked_credentials_end_the_run_at_the_next_connection(own: SftpStorage) -> None:
    own.write("a.csv", b"id\n1\n")
    source = source_of(own)
    assert only(source)
    own.server.passwords[USER] = "another"
    own.server.cut()
    assert code_of(lambda: only(source)) == "source.credentials_refused"


@pytest.mark.slow
def test_many_files_are_read_in_one_connection(own: SftpStorage) -> None:
    for i in range(50):
        own.write(f"{i}.csv", b"id\n1\n")
    source = source_of(own)
    for file in source.find_files(LATER):
        sha256_of(file, source.store)
    assert own.server.sign_ins == 1


@pytest.mark.slow
def test_a_client_that_is_no_longer_used_ends_its_connection_and_thread(own: SftpStorage) -> None:
    before = threading.active_count()
    store = open_store(own.connection)
    assert isinstance(store, SftpStore)
    assert store.has_folder(own.path)
    assert threading.active_count() > before
    del store
    deadline = 100
    while threading.active_count() > before and deadline:
        threading.Event().wait(0.05)
        deadline -= 1
    assert threading.active_count() == before
