"""A workspace, and a role whose password holds every character that URLs and shells trip over."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from executors.model import Connection
from flowapp.connections.fields import ConnectionFields
from tests.databases import connect_to
from tests.flowapp.web.conftest import as_, person
from tests.roles import new_role

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace

PASSWORD = "P@ss:w/rd%?"
__all__ = ["as_", "person"]


@pytest.fixture
def alices(db: None) -> Workspace:
    from flowapp.accounts.services import ensure_workspace

    return ensure_workspace("alices")


@pytest.fixture
def awkward(server: Connection, warehouse: Connection) -> Iterator[ConnectionFields]:
    """Fields of a connection to the warehouse as a role that may do nothing there."""
    role = f"awkward_{secrets.token_hex(4)}"
    admin = connect_to(server)
    with admin, new_role(admin, role, PASSWORD):
        yield ConnectionFields("postgres", server.host, server.port, warehouse.database, role, PASSWORD)
