"""Values as people write them: typed by settings of the source or of a cast, without an expression."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from tests.executors.conformance.world import World

DAY = {"type": "date", "format": ["%d.%m.%Y", "%Y-%m-%d"]}
AMOUNT = {"type": "decimal(12,2)", "decimalSeparator": ",", "groupSeparator": "."}
FILE = "id;day;amount\n1;31.12.2024;1.234,56\n2;2024-12-31;-0,5\n3;32.12.2024;1\n4;31.12.2024;12.34\n5;;\n"
IN_SOURCE = {"columns": [{"name": "day", **DAY}, {"name": "amount", **AMOUNT}]}
IN_CAST = {"ops": [{"op": "cast", "columns": {"day": DAY, "amount": AMOUNT}}]}
THROUGH_SPARK = {"ops": [{"op": "filter", "where": "day is null or year(day) > 2000"}]}


@pytest.mark.parametrize("settings", [IN_SOURCE, IN_CAST, {**IN_SOURCE, **THROUGH_SPARK}])
def test_a_german_file_is_loaded_exactly_and_its_faults_are_reported(world: World, settings: dict[str, Any]) -> None:
    world.write("a", FILE)
    document = world.document(**settings, onTypeMismatch="skip", failAtRejectedPct=90)
    document["nodes"][0]["config"]["format"]["delimiter"] = ";"
    world.run(document)
    day = date(2024, 12, 31)
    assert world.sql("select id, day, amount from t order by id") == [
        ("1", day, Decimal("1234.56")),
        ("2", day, Decimal("-0.50")),
        ("5", None, None),
    ]
    reasons = [str(row) for row in world.sql('select r from rejected r order by "sourceRecord"::int')]
    assert ["written as %d.%m.%Y or %Y-%m-%d" in reasons[0], "before the fraction" in reasons[1]] == [True, True]
    assert len(reasons) == 2
