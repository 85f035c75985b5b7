"""The people of the page tests."""

from tests.flowapp.runs.conftest import sent
from tests.flowapp.web.conftest import as_, person

__all__ = ["as_", "person", "sent"]
