"""Runs what a first load runs, in a JVM that writes its classes to an archive when it ends: `python -m … FILE`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from executors.spark import archive, session
from executors.spark.probe import warm_workers

PATIENCE = 300
"""Seconds: the JVM writes the archive while it ends."""


def build(path: Path) -> None:
    """Write the archive; it appears under its name only when it is whole."""
    draft = path.with_suffix(f".{os.getpid()}.draft")
    os.nice(10)
    try:
        session.get_session("inline", (f"-XX:ArchiveClassesAtExit={draft}",))
        warm_workers(session.get_session())
        session.stop_session(PATIENCE)
        if draft.exists():
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
        archive.claim_of(path).unlink(missing_ok=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
