"""Clients of every role, and runs that no worker gets."""

from __future__ import annotations

from tests.flowapp.cli.conftest import flow
from tests.flowapp.pipelines.conftest import editor, person, sign_in, web
from tests.flowapp.runs.conftest import sent

__all__ = ["editor", "flow", "person", "sent", "sign_in", "web"]
