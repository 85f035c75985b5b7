"""The web process."""

from __future__ import annotations

import os

from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowapp.settings")

POOL = {"min_size": 1, "max_size": 10, "timeout": 5}


def share_connections() -> None:
    """A pool for the whole process. Under ASGI each request has a thread of its own, which would connect anew."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("postgresql"):
        database["CONN_MAX_AGE"] = 0
        database["OPTIONS"] = {**database["OPTIONS"], "pool": POOL}


share_connections()
application = get_asgi_application()
