"""What the web process loads, and what it does not."""

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
