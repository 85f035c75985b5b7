"""What a load would change in a Delta table is counted without a change, and is what the load then changes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from executors.delta.effects import count_effect, find_conflicts
from executors.effects import Effect
from tests.executors.delta.conftest import ROWS, Loads, commit

STAGED = ({"id": 2, "name": "Rob"}, {"id": 1, "name": "Ann"}, {"id": 3, "name": "Cy"}, {"id": 3, "name": "Cyd"})


def counted(loads: Loads, plan: Any) -> Effect:
    version = loads.folder.open()
    effect = count_effect(plan, version)
    assert (loads.folder.open() is None) == (version is None)
    return effect


@pytest.mark.parametrize("mode", ["append", "truncate", "blue_green", "upsert"])
def test_the_load_makes_the_changes_that_were_counted(loads: Loads, mode: str) -> None:
    loads.create(ROWS)
    plan = loads.staged(STAGED, mode)
    effect, before = counted(loads, plan), len(loads.rows())
    counts = commit(plan).counts
    assert (effect.inserted, effect.updated, effect.unchanged, effect.replaced) == (
        counts.inserted,
        counts.updated,
        counts.unchanged,
        counts.replaced,
    )
    assert (effect.before, effect.after) == (before, len(loads.rows()))


def test_rows_that_change_are_shown_with_the_old_and_the_new_value(loads: Loads) -> None:
    loads.create(ROWS)
    keys = counted(loads, loads.staged(STAGED, "upsert")).keys
    assert keys is not None
    assert (keys.new, keys.changed, keys.same, keys.gone, keys.columns) == (1, 1, 1, 0, {"name": 1})
    (sample,) = keys.samples
    assert (sample.key, sample.changes) == ({"id": "2"}, {"name": ["Bob", "Rob"]})


def test_the_rows_of_a_missing_table_are_all_inserted(loads: Loads) -> None:
    effect = counted(loads, loads.staged(STAGED, "upsert"))
    assert (effect.is_new_table, effect.before, effect.inserted, effect.replaced) == (True, 0, 3, 1)


def test_conflicts_are_found_by_the_position_of_their_row(loads: Loads) -> None:
    loads.create(ROWS)
    plan = loads.staged(STAGED, "upsert")
    assert find_conflicts(plan, loads.table()) == {(0, 1): {"key": {"id": "2"}, "changes": {"name": ["Bob", "Rob"]}}}


def test_columns_may_have_any_names(loads: Loads) -> None:
    names = ("differs", "newer", "old_differs")
    columns = tuple((name, "integer") for name in names)
    loads.create([dict.fromkeys(names, 1)], pa.schema([pa.field(name, pa.int32()) for name in names]))
    row = {"differs": 1, "newer": 1, "old_differs": 2}
    plan = loads.staged([row], "upsert", columns=columns, key=("differs", "newer"))
    assert counted(loads, plan).updated == 1
    commit(plan)
    assert loads.table().to_pyarrow_table().to_pylist() == [row]


def test_conflicts_are_found_for_each_row_of_a_key(loads: Loads) -> None:
    loads.create(ROWS)
    plan = loads.staged(({"id": 2, "name": "Rob"}, {"id": 2, "name": "Bobby"}), "upsert")
    found = find_conflicts(plan, loads.table())
    assert {at: one["changes"] for at, one in found.items()} == {
        (0, 1): {"name": ["Bob", "Rob"]},
        (0, 2): {"name": ["Bob", "Bobby"]},
    }
