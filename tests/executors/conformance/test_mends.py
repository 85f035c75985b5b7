"""Rejected rows that an expression mends: only those whose value it changes."""

from __future__ import annotations

import pytest

from executors.mend import mend_rows
from executors.model import RowsRef, RunReport
from tests.executors.conformance.world import World

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

NOT_NULL = {"id": "named", "type": "notNull", "field": "name", "onFail": "skip"}


@pytest.fixture
def loaded(world: World) -> World:
    """Rows 2 and 4 are in quarantine."""
    world.sql("create table t (id int, name text)")
    world.write("a.csv", "id,name\n1,Ann\n2,\n4,\n")
    world.run(world.document(rules=[NOT_NULL]))
    return world


def compute(world: World, column: str, expression: str) -> RunReport:
    ids = [row[0] for row in world.sql("select id from rejected order by id")]
    ref = RowsRef("load", "source", [(world.schema, "rejected", ids)], column=column, expression=expression)
    return mend_rows(world.job(world.document(), rows=ref), world.memory.ports())


def test_rows_whose_value_comes_out_as_it_was_stay_as_they_are(loaded: World) -> None:
    assert compute(loaded, "id", "regexp_replace(id, '4', '5%')").row_counts == {"mended": 1, "unchanged": 1}
    assert loaded.sql("select status, \"fixedRow\" ->> 'id', revision from rejected order by id") == [
        ("open", None, 0),
        ("fixed", "5%", 1),
    ]
    assert compute(loaded, "id", "id").row_counts == {"unchanged": 2}
    assert compute(loaded, "name", "upper(name)").row_counts == {"unchanged": 2}
    assert compute(loaded, "id", "'4'").row_counts == {"mended": 2}
