"""The web process."""

from __future__ import annotations

import gc
import os

from django.conf import settings
from django.core.asgi import get_asgi_application

from flowapp.web.client_address import ClientAddress

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowapp.settings")

POOL = {"min_size": 1, "max_size": 10, "timeout": 5}


def share_connections() -> None:
    """A pool for the whole process. Under ASGI each request has a thread of its own, which would connect anew."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("postgresql"):
        database["CONN_MAX_AGE"] = 0
        database["OPTIONS"] = {**database["OPTIONS"], "pool": POOL}


def spare_the_collector() -> None:
    """What was loaded by now stays for good: going through it would hold up some request for a quarter of a second."""
    gc.collect()
    gc.freeze()


share_connections()
application = ClientAddress(get_asgi_application(), settings.TRUSTED_PROXIES)
spare_the_collector()
