"""Facts about this installation for the Settings page and for problem reports."""

from __future__ import annotations

import platform
from importlib.metadata import version

from django.conf import settings
from django.db import connection


def about() -> list[tuple[str, str]]:
    """Return pairs of name and value. No value contains a password."""
    return [
        ("Flow", version("flow-pipelines")),
        ("Python", platform.python_version()),
        ("Control database", connection.vendor),
        ("Spark", version("pyspark")),
        ("Environment", settings.FLOW_ENV),
        ("Address", settings.FLOW_PUBLIC_URL),
    ]
