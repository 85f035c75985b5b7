"""Rejected rows that an expression fixes: only those whose value it changes."""

from __future__ import annotations

from typing import Any

import pytest

from executors.destinations.postgres import opening
from executors.destinations.postgres.rejected_rows import PostgresRejectedRows
from executors.errors import Cancelled, Failure
from executors.model import RowsRef
from executors.postgres import choosing
from executors.report import RunReport
from executors.runs.fix import fix_rows
from executors.spark import fix_values
from tests.executors.conformance.world import World

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

NOT_NULL = {"id": "named", "type": "notNull", "field": "name", "onFail": "skip"}


@pytest.fixture
def loaded(world: World) -> World:
    """A load that leaves rows 2 and 4 in quarantine."""
    world.sql("create table t (id int, name text)")
    world.write("a.csv", "id,name\n1,Ann\n2,\n4,\n")
    world.run(world.document(rules=[NOT_NULL]))
    return world


def compute(world: World, column: str, expression: str, **options: Any) -> RunReport:
    ids = [row[0] for row in world.sql("select id from rejected order by id")]
    tables = [(world.schema, "rejected", ids)]
    ref = RowsRef("load", "source", tables, column=column, expression=expression, **options)
    return fix_rows(world.job(world.document(), rows=ref), world.memory.ports())


def test_rows_whose_value_comes_out_as_it_was_stay_as_they_are(loaded: World) -> None:
    assert compute(loaded, "id", "regexp_replace(id, '4', '5%')").row_counts == {"fixed": 1, "unchanged": 1}
    assert loaded.sql("select status, \"fixedRow\" ->> 'id', revision from rejected order by id") == [
        ("open", None, 0),
        ("fixed", "5%", 1),
    ]
    runs = fix_runs(loaded)
    assert compute(loaded, "id", "id", computed_by=runs).row_counts == {"unchanged": 2}
    assert compute(loaded, "name", "upper(name)").row_counts == {"unchanged": 2}
    assert compute(loaded, "id", "'4'", computed_by=runs).row_counts == {"fixed": 2}


def test_who_learns_that_an_expression_is_refused_does_not_learn_what_it_quotes(loaded: World) -> None:
    with pytest.raises(Failure) as caught:
        compute(loaded, "name", " case when name = 'Ann' then array(name) end")
    assert str(caught.value).startswith("expression.type: Derive (op 1): the expression returns array<string>,")
    assert "Ann" not in "".join(map(str, (caught.value.args, caught.value.hint)))


def fix_runs(world: World) -> frozenset[str]:
    return frozenset(run for (run,) in world.sql('select distinct "fixRun" from rejected where "fixRun" is not null'))


def type_over(world: World, row: str, column: str, value: str) -> None:
    """Fix a row as a user does. Then the newest fix of the row does not belong to a run."""
    world.sql(
        f"update rejected set status = 'fixed', revision = revision + 1, \"fixRun\" = null,"
        f' "fixedRow" = coalesce("fixedRow", row) || \'{{"{column}": "{value}"}}\' where row ->> \'id\' = \'{row}\''
    )


def held(world: World, column: str) -> list[str | None]:
    return [value for (value,) in world.sql(f"select \"fixedRow\" ->> '{column}' from rejected order by id")]


def test_what_was_typed_by_hand_stays_unless_it_may_be_replaced(loaded: World) -> None:
    type_over(loaded, "2", "name", "Bob")
    assert compute(loaded, "name", "concat('row ', id)").row_counts == {"fixed": 1, "typed": 1}
    assert held(loaded, "name") == ["Bob", "row 4"]
    assert compute(loaded, "name", "concat('row ', id)", replaces_typed=True).row_counts == {
        "fixed": 1,
        "unchanged": 1,
    }
    assert held(loaded, "name") == ["row 2", "row 4"]


def test_what_an_expression_computed_is_computed_anew_and_what_was_typed_before_it_stays(loaded: World) -> None:
    compute(loaded, "name", "'one'")
    runs = fix_runs(loaded)
    assert compute(loaded, "name", "'two'", computed_by=runs).row_counts == {"fixed": 2}
    type_over(loaded, "2", "name", "Bob")
    compute(loaded, "id", "concat('00', id)")
    assert compute(loaded, "name", "'three'", computed_by=runs).row_counts == {"typed": 2}
    assert held(loaded, "name") == ["Bob", "two"]


def test_values_come_in_bounded_pieces_and_are_written_together_or_not_at_all(world: World) -> None:
    world.sql("create table t (id int, name text)")
    world.write("a.csv", "id,name\n" + "".join(f"{n},\n" for n in range(1, 1501)))
    world.run(world.document(rules=[NOT_NULL], failAtRejectedPct=0))
    assert compute(world, "name", "repeat('x', 700)").row_counts == {"fixed": 1500}
    runs = fix_runs(world)
    with pytest.raises(Failure) as caught:
        compute(world, "name", "repeat('y', CASE WHEN id > 1000 THEN 3000 ELSE 1 END)", computed_by=runs)
    assert caught.value.code == "fix.too_much"
    assert world.sql("select distinct \"fixedRow\" ->> 'name' from rejected") == [("x" * 700,)]
    assert compute(world, "name", "cast(id as int) % 2", computed_by=runs).row_counts == {"fixed": 1500}


def test_an_expression_that_is_cancelled_between_two_pieces_computes_no_further_one(
    loaded: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "PART_ROWS", 1)
    monkeypatch.setattr(fix_values, "MOST_TASKS", 1)
    write, written = PostgresRejectedRows.fix, []

    def cancelling(*args: Any) -> int:
        written.append(args)
        loaded.memory.stop = Cancelled("run.cancelled", "Enough.")
        assert loaded.memory.interrupt
        loaded.memory.interrupt()
        return write(*args)

    monkeypatch.setattr(PostgresRejectedRows, "fix", cancelling)
    monkeypatch.setattr(opening, "interrupt", lambda conn: None)
    with pytest.raises(Cancelled):
        compute(loaded, "name", "'x'")
    assert len(written) == 1
    assert held(loaded, "name") == [None, None]
