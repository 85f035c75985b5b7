"""People of every role, and clients that are signed in as them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.test import Client

if TYPE_CHECKING:
    from flowapp.accounts.models import User, Workspace


@pytest.fixture
def person(workspace: Workspace) -> Callable[[str], User]:
    """A member of the workspace with that role."""
    from flowapp.accounts.services import add_member

    return lambda role: add_member(workspace, f"{role}@example.com", role).user


@pytest.fixture
def editor(person: Callable[[str], User]) -> User:
    return person("editor")


@pytest.fixture
def sign_in(workspace: Workspace) -> Callable[[User], Client]:
    """A client of the person whose API requests are for the workspace."""

    def call(user: User) -> Client:
        client = Client(headers={"X-Flow-Workspace": workspace.slug})
        client.force_login(user)
        return client

    return call


@pytest.fixture
def web(sign_in: Callable[[User], Client], editor: User) -> Client:
    """The editor's client."""
    return sign_in(editor)
