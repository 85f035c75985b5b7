"""Folders of claimed files: their names say who has claimed the files. Decision 19 describes
them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from executors.sources.base import Claimant

_NAME = re.compile(
    r"(?P<pipeline>[a-z][a-z0-9_-]*)\.(?P<source>[a-z][a-z0-9_-]*)\.(?P<token>[0-9]+)\.(?:(?P<tenant>[^.]+)\.)?(?P<run>.+)"
)


@dataclass(frozen=True, slots=True)
class ClaimFolder:
    """The folder of an attempt of a run. `tenant` is the workspace, empty in the folder of one workspace."""

    pipeline: str
    source: str
    token: int
    run: str
    tenant: str = ""

    @classmethod
    def of(cls, who: Claimant, node: str, tenant: str = "") -> ClaimFolder:
        """Return the folder of the claims of a source node. An attempt that claims has a token."""
        return cls(who.pipeline, node, who.token or 0, who.run_id, tenant)

    @classmethod
    def parse(cls, name: str) -> ClaimFolder | None:
        """Return the claimant that a name describes; None if it is no folder of claims."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        return cls(found["pipeline"], found["source"], int(found["token"]), found["run"], found["tenant"] or "")

    @property
    def name(self) -> str:
        parts = (self.pipeline, self.source, str(self.token), self.tenant, self.run)
        return ".".join(part for part in parts if part)
