"""Where Spark is: beside this process unless the environment names another place."""

from __future__ import annotations

import os


def remote() -> str | None:
    """FLOW_SPARK_REMOTE: a Spark Connect server (`sc://host:port`)."""
    return os.environ.get("FLOW_SPARK_REMOTE") or None


def server_name() -> str:
    """The Spark Connect server as people may be told of it: what follows host and port may hold a token."""
    return (remote() or "").split("/;")[0].rstrip("/")


def master() -> str:
    """FLOW_SPARK_MASTER: a cluster's master (`spark://host:port`), else all cores of this machine."""
    return os.environ.get("FLOW_SPARK_MASTER") or "local[*]"


def is_local() -> bool:
    """Whether Spark sees the files and the environment that this process sees."""
    return remote() is None and master().startswith("local")
