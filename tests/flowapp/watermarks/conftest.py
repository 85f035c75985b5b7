"""A pipeline that follows a watermark, and the table that it loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from executors.model import Connection
from tests.databases import connect_to
from tests.flowapp.conftest import make_document
from tests.flowapp.web.conftest import as_, person

if TYPE_CHECKING:
    from flowapp.pipelines.models import Pipeline

__all__ = ["as_", "person"]


def incremental_nodes(schema: str, **target: Any) -> list[dict[str, Any]]:
    files, load = make_document(schema=schema)["nodes"]
    follows = {"loadMode": "incremental_watermark", "watermarkColumn": "upd", **target}
    return [files, {**load, **follows}]


@pytest.fixture
def sql(warehouse: Connection, schema: str) -> Callable[[str], list[tuple[Any, ...]]]:
    """Run a statement in the warehouse with the test's schema as the search path."""

    def run(statement: str) -> list[tuple[Any, ...]]:
        w = warehouse
        with connect_to(w, schema) as conn:
            cursor = conn.execute(statement)
            return cursor.fetchall() if cursor.description else []

    return run


@pytest.fixture
def following(save: Callable[..., Any], schema: str, sql: Callable[[str], Any]) -> Pipeline:
    """The pipeline `numbers`, whose target `load` follows the column `upd`."""
    sql("create table numbers (id int, upd timestamp not null)")
    return save(nodes=incremental_nodes(schema, watermarkLag="15m")).pipeline


@pytest.fixture
def down(following: Pipeline) -> Callable[[], None]:
    """Makes the warehouse unreachable."""
    from flowapp.connections.models import Connection as Stored

    return lambda: Stored.objects.update(port=1)


@pytest.fixture
def changing(following: Pipeline, sql: Callable[[str], Any]) -> None:
    """A trigger of the table changes loaded values, and the table has no unique key."""
    sql("create function loud() returns trigger language plpgsql as $$begin return new; end$$")
    sql("create trigger loud before insert on numbers for each row execute function loud()")
