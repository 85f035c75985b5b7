"""People: of alice's team a viewer, an editor and an admin; bob is a stranger with a team of his own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from django.test import Client

    from flowapp.accounts.models import User, Workspace

SIGN_IN = "django.contrib.auth.backends.ModelBackend"


@pytest.fixture
def person(workspace: Workspace) -> Callable[[str], User]:
    """A member of alice's team with that role; the `stranger` is admin of another team."""
    from flowapp.accounts.services import add_member, ensure_workspace

    def make(role: str) -> User:
        team, role_there = (ensure_workspace("bobs-team"), "admin") if role == "stranger" else (workspace, role)
        return add_member(team, f"{role}@example.com", role_there).user

    return make


@pytest.fixture
def as_(person: Callable[[str], User]) -> Callable[[str], Client]:
    """A browser that is signed in as a viewer, editor, admin or stranger; `anonymous` is not."""
    from django.test import Client

    def sign_in(role: str) -> Client:
        client = Client()
        if role != "anonymous":
            client.force_login(person(role), backend=SIGN_IN)
        return client

    return sign_in
