"""The people of these tests."""

from tests.flowapp.pipelines.conftest import editor, person, sign_in, web

__all__ = ["editor", "person", "sign_in", "web"]
