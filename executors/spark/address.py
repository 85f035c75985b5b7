"""The address of Spark, from the environment. By default Spark runs in a JVM next to this process."""

from __future__ import annotations

import os


def remote() -> str | None:
    """Return the address of the Spark Connect server (`sc://host:port`), from FLOW_SPARK_REMOTE, or None."""
    return os.environ.get("FLOW_SPARK_REMOTE") or None


def server_name() -> str:
    """Return the address of the Spark Connect server without its parameters, which may contain a token."""
    return (remote() or "").split("/;")[0].rstrip("/")


def master() -> str:
    """Return the master URL of a cluster (`spark://host:port`), from FLOW_SPARK_MASTER. By default Spark uses all cores
    of this machine."""
    return os.environ.get("FLOW_SPARK_MASTER") or "local[*]"


def is_local() -> bool:
    """Return whether Spark can access the files and the environment of this process."""
    return remote() is None and master().startswith("local")
