"""The people of the alert tests."""

from tests.flowapp.web.conftest import person

__all__ = ["person"]
