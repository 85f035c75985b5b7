"""The class-data-sharing archive that lets a cold JVM start in half the time. Missing or stale, it is just not used."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pyspark

from executors.spark import java

LAPSES_AFTER = 600
"""Seconds after which a claim on building counts as left behind."""


def java_options() -> list[str]:
    """Options that use the archive, if there is one for this Java and this Spark."""
    path = archive_path()
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto"] if path.exists() else []


def archive_path() -> Path:
    """Keyed by the Java build and the class path: the JVM ignores an archive that was made with others."""
    parts = [str(java.find_java()), *_stamps(java.find_java().parent.parent / "lib" / "server")]
    parts += _stamps(Path(pyspark.__file__).with_name("jars"))
    return java.cache_folder() / f"spark-{hashlib.sha256(chr(10).join(parts).encode()).hexdigest()[:16]}.jsa"


def _stamps(folder: Path) -> list[str]:
    return (
        sorted(f"{e.name} {e.stat().st_size} {e.stat().st_mtime_ns}" for e in os.scandir(folder))
        if folder.is_dir()
        else []
    )


def start_build() -> subprocess.Popen[bytes] | None:
    """Make the archive in a process of its own, at low priority; None if it is there or being made.

    The process outlives this one if it must, ends by itself within minutes, and tells nobody when it fails.
    """
    path = archive_path()
    if path.exists() or not _claim(path):
        return None
    return subprocess.Popen(
        [sys.executable, "-m", "executors.spark.archive_build", str(path)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def _claim(path: Path) -> bool:
    """One builder at a time: true for the first to ask. The claim of a killed builder lapses."""
    claim = claim_of(path)
    try:
        claim.touch(exist_ok=False)
    except FileExistsError:
        if time.time() - claim.stat().st_mtime < LAPSES_AFTER:
            return False
        claim.touch()
    return True


def claim_of(path: Path) -> Path:
    return path.with_suffix(".building")
