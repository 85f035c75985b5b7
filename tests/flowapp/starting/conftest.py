"""The people of the tests, and the workspace's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flowapp.web.conftest import as_, person

__all__ = ["as_", "person"]


@pytest.fixture
def root(settings, tmp_path) -> Path:
    """The workspace's folder of files."""
    settings.FILES_ROOT = tmp_path.resolve()
    folder = settings.FILES_ROOT / "alices-team"
    folder.mkdir()
    return folder
