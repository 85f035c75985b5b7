"""Objects that are read in place are not read again while the store shows that they have not changed."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

import pytest

from tests.connectors.object_storage import ObjectStorage
from tests.connectors.proxy import Answer, Proxy, Request
from tests.connectors.storages import OBJECT_STORES, object_storage
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = pytest.mark.slow


class Reads:
    """A rule of the proxy that changes nothing: it counts the requests for parts of objects."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __call__(self, request: Request) -> Answer | None:
        if {name.lower() for name in request.headers} & {"range", "x-ms-range"}:
            self.names.append(unquote(request.path.partition("?")[0]).rpartition("/")[2])
        return None

    def since_last(self) -> set[str]:
        found = set(self.names)
        self.names.clear()
        return found


@pytest.fixture(params=OBJECT_STORES)
def storage(request: pytest.FixtureRequest) -> Iterator[ObjectStorage]:
    storage = object_storage(request.param)
    storage.proxy = Proxy(storage.server.port)
    yield storage
    storage.proxy.close()


@pytest.fixture
def reads(world: World) -> Reads:
    assert isinstance(world.storage, ObjectStorage)
    assert world.storage.proxy
    world.sql("create table t (id int, name text)")
    reads = Reads()
    world.storage.proxy.rules.append(reads)
    for name in ("a.csv", "b.csv"):
        world.write(name, f"id,name\n1,of {name}\n")
    return reads


def test_only_new_objects_are_read(world: World, reads: Reads) -> None:
    made = world.document()
    world.run(made)
    assert reads.since_last() == {"a.csv", "b.csv"}
    world.run(made)
    assert reads.since_last() == set()
    world.write("c.csv", "id,name\n2,new\n")
    report = world.run(made)
    assert (reads.since_last(), target_of(report).rows_loaded) == ({"c.csv"}, 1)


def test_a_new_small_object_is_requested_once(world: World, reads: Reads) -> None:
    world.write("c.csv", "id,name\n" + "1,of c.csv\n" * 20_000)
    report = world.run(world.document())
    assert sorted(reads.names) == ["a.csv", "b.csv", "c.csv"]
    assert target_of(report).rows_loaded == 20_002
    assert list((world.folder / ".spool").iterdir()) == []


def test_a_replaced_object_is_read_and_loaded(world: World, reads: Reads) -> None:
    made = world.document()
    world.run(made)
    reads.since_last()
    world.write("a.csv", "id,name\n2,of a.csv\n")
    report = world.run(made)
    assert reads.since_last() == {"a.csv"}
    assert reconciles(report)
    assert world.rows() == [(1, "of a.csv"), (1, "of b.csv"), (2, "of a.csv")]


def test_a_new_target_reads_all_objects(world: World, reads: Reads) -> None:
    made = world.document()
    world.run(made)
    reads.since_last()
    world.sql("create table u (like t)")
    made["nodes"].append({**made["nodes"][-1], "id": "second", "table": "u"})
    report = world.run(made)
    assert reads.since_last() == {"a.csv", "b.csv"}
    assert reconciles(report)
    assert world.sql("select * from t except select * from u") == []
    assert len(world.rows()) == 2


def test_a_table_that_is_replaced_gets_the_rows_of_all_objects(world: World, reads: Reads) -> None:
    made = world.document(mode="truncate")
    world.run(made)
    world.run(made)
    reads.since_last()
    world.write("c.csv", "id,name\n2,new\n")
    world.run(made)
    assert reads.since_last() == {"a.csv", "b.csv", "c.csv"}
    assert len(world.rows()) == 3


def test_objects_that_are_to_be_loaded_again_are_read(world: World, reads: Reads) -> None:
    made = world.document()
    world.run(made)
    reads.since_last()
    world.memory.forgotten_tokens = dict.fromkeys(world.memory.states, next(world.tokens))
    world.run(made)
    assert reads.since_last() == {"a.csv", "b.csv"}
    assert len(world.rows()) == 4
