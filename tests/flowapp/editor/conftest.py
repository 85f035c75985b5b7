"""The people of the editor's tests."""

from tests.flowapp.pipelines.conftest import editor, person, sign_in, web

__all__ = ["editor", "person", "sign_in", "web"]
