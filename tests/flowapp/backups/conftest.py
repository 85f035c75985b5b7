from __future__ import annotations

from tests.flowapp.runs.conftest import expire, sent, target
from tests.flowapp.web.conftest import as_, person

__all__ = ["as_", "expire", "person", "sent", "target"]
