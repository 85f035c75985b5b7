"""The web process."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.core.asgi import get_asgi_application

from flowapp.registrations import load_registrations
from flowapp.web.client_address import ClientAddress

if TYPE_CHECKING:
    from django.core.handlers.asgi import ASGIHandler

    from flowapp.web.admission import Admission

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowapp.settings")

POOL = {"min_size": 1, "max_size": 10, "timeout": 5}


def share_connections() -> None:
    """A pool for the whole process. Under ASGI each request has a thread of its own, which would connect anew."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("postgresql"):
        database["CONN_MAX_AGE"] = 0
        database["OPTIONS"] = {**database["OPTIONS"], "pool": POOL}


def freeze_collected_objects() -> None:
    """What was loaded by now stays for good: going through it would hold up some request for a quarter of a second."""
    gc.collect()
    gc.freeze()


def admit(django: ASGIHandler) -> Admission:
    """Django behind bounds; one connection is left for what has no place, such as the health check."""
    from flowapp.uploads.limits import body_limit
    from flowapp.web.admission import Admission, App

    return Admission(cast(App, django), body_limit, POOL["max_size"] - 1)


share_connections()
application = ClientAddress(admit(get_asgi_application()), settings.TRUSTED_PROXIES)
load_registrations()
freeze_collected_objects()
