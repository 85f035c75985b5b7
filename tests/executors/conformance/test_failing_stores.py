"""Stores that refuse, disappear, change or lack something in the middle of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from executors.errors import Failure, Terminal, Transient
from tests.connectors.object_storage import ObjectStorage
from tests.connectors.proxy import Proxy, Rule, down, refuse, without_ranges
from tests.connectors.storages import OBJECT_STORES, object_storage
from tests.executors.conformance.world import World

pytestmark = pytest.mark.slow
TABLE = "create table t (id int, name text)"
ROWS = "id,name\n" + "".join(f"{i},n{i}\n" for i in range(2000))


@pytest.fixture(params=OBJECT_STORES)
def storage(request: pytest.FixtureRequest) -> Iterator[ObjectStorage]:
    storage = object_storage(request.param)
    storage.proxy = Proxy(storage.server.port)
    yield storage
    storage.proxy.close()


@pytest.fixture
def document(world: World) -> dict[str, object]:
    world.sql(TABLE)
    world.write("a.csv", ROWS)
    return world.document(source={"atomicity": world.storage.atomicity})


def rules_of(world: World) -> list[Rule]:
    assert isinstance(world.storage, ObjectStorage)
    assert world.storage.proxy
    return world.storage.proxy.rules


def at_the_pass(world: World, act: Callable[[], object]) -> None:
    def on_step(step: str, node: str | None) -> None:
        if step == "pass":
            act()

    world.memory.on_step = on_step


@pytest.mark.parametrize(
    ("rule", "kind", "code"),
    [(refuse, Terminal, "source.permission_denied"), (down, Transient, "source.store_unreachable")],
    ids=["revoked", "down"],
)
def test_a_run_without_its_store_loads_nothing_and_the_next_one_everything(
    world: World, document: dict[str, object], rule: Rule, kind: type[Failure], code: str
) -> None:
    at_the_pass(world, lambda: rules_of(world).append(rule))
    with pytest.raises(kind) as failure:
        world.run(document)
    assert failure.value.code == code
    assert world.rows() == []
    assert world.storage.exists("a.csv")
    rules_of(world).clear()
    world.memory.on_step = lambda step, node: None
    world.run(document)
    assert len(world.rows()) == 2000
    assert (world.storage.exists("a.csv"), world.storage.exists(".done/a.csv")) == (False, True)


def test_an_object_that_is_replaced_while_it_is_read_is_loaded_by_the_next_run(
    world: World, document: dict[str, object]
) -> None:
    at_the_pass(world, lambda: world.write("a.csv", "id,name\n7,new\n"))
    with pytest.raises(Transient, match=r"^source\.changed"):
        world.run(document)
    assert world.rows() == []
    world.memory.on_step = lambda step, node: None
    world.run(document)
    assert world.rows() == [(7, "new")]


def test_a_server_without_ranges_is_refused(world: World, document: dict[str, object]) -> None:
    content = "id,name\n" + "1234567,abcdefgh\n" * 600_000
    world.write("a.csv", content)
    rules_of(world).append(without_ranges(content.encode()))
    with pytest.raises(Terminal, match=r"^source\.no_ranges"):
        world.run(document)
    assert world.rows() == []
