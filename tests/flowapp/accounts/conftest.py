"""The people of the page tests, and passwords that cost no time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flowapp.web.conftest import as_, person

__all__ = ["as_", "person"]


@pytest.fixture(autouse=True)
def quick_hashes(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
