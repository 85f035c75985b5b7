"""The validate node: row rules, dataset checks and where rejected rows go."""

from __future__ import annotations

from typing import Literal

from ir.base import Spec
from ir.checks import DatasetLevel
from ir.nodes.base import InnerNode
from ir.rules import Rule


class Quarantine(Spec):
    """Where violating rows are kept: a table `schema.name` in the target's database."""

    enabled: bool
    table: str | None = None


class Validate(InnerNode):
    kind: Literal["validate"]
    row_level: list[Rule] = []
    dataset_level: DatasetLevel | None = None
    quarantine: Quarantine | None = None
