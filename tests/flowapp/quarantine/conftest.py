"""A workspace with a pipeline whose rejects are stored in a table with a difficult name, and its users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from executors.model import Connection
from tests.flowapp.quarantine.keeping import connect_to, save
from tests.flowapp.web.conftest import as_, person

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace
    from flowapp.pipelines.models import Pipeline

__all__ = ["as_", "person"]


@pytest.fixture
def alices(workspace: Workspace, warehouse: Connection) -> Workspace:
    return connect_to(workspace, warehouse)


@pytest.fixture
def orders(alices: Workspace, schema: str) -> Pipeline:
    return save(alices, "orders", f'{schema}."My Orders"')
