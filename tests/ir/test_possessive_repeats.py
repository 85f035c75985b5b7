"""No pattern repeats a group possessively: Python 3.11.0 to 3.11.4 match such patterns wrongly."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from re import _constants, _parser  # type: ignore[attr-defined]

import pytest

import ir

ONE_CHARACTER = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY)


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for module in pkgutil.walk_packages(ir.__path__, "ir."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                yield f"{module.name}.{name}", value


def repeats_a_group(part: object) -> bool:
    """Return whether a part of a parsed pattern is a possessive repeat of more than one character."""
    if isinstance(part, tuple) and part and part[0] is _constants.POSSESSIVE_REPEAT:
        repeated = part[1][2]
        return len(repeated) != 1 or repeated[0][0] not in ONE_CHARACTER
    parts = part if isinstance(part, (tuple, list, _parser.SubPattern)) else ()
    return any(repeats_a_group(inner) for inner in parts)


@pytest.mark.parametrize(
    ("text", "found"), [("(?:a|bc)*+", True), ("(x(?:ab?c)?+)", True), ("(?>(?:ab)*)[a-z]*+.?+", False)]
)
def test_a_possessive_repeat_of_a_group_is_found(text: str, found: bool) -> None:
    assert repeats_a_group(_parser.parse(text)) is found


def test_no_pattern_repeats_a_group_possessively() -> None:
    wrong = [name for name, pattern in patterns() if repeats_a_group(_parser.parse(pattern.pattern, pattern.flags))]
    assert wrong == []
    assert len(dict(patterns())) > 10
