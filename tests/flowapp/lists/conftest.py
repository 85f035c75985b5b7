"""The people of the page tests."""

from tests.flowapp.web.conftest import as_, person

__all__ = ["as_", "person"]
