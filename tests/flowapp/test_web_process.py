"""The modules that the web process loads."""

from __future__ import annotations

import os
import subprocess
import sys


def test_it_never_loads_spark() -> None:
    source = (
        "import sys; from flowapp.asgi import application; from django.urls import get_resolver; "
        "get_resolver().url_patterns; sys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", source], env=os.environ.copy()).returncode == 0


def test_its_requests_share_connections() -> None:
    """A thread per request would otherwise mean a connection per request."""
    source = "import flowapp.asgi; from django.db import connection; print(connection.pool is not None)"
    environment = {**os.environ, "FLOW_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
    done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr
