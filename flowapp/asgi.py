"""The web process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.core.asgi import get_asgi_application

from flowapp.registrations import load_registrations
from flowapp.web.client_address import ClientAddress
from flowapp.web.garbage import collect_rarely

if TYPE_CHECKING:
    from django.core.handlers.asgi import ASGIHandler

    from flowapp.web.admission import Admission

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "flowapp.settings")

POOL = {"min_size": 1, "max_size": 10, "timeout": 5}


def share_connections() -> None:
    """Share one connection pool in the process. Under ASGI each request runs in its own thread, which would otherwise
    open a new connection."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("postgresql"):
        database["CONN_MAX_AGE"] = 0
        database["OPTIONS"] = {**database["OPTIONS"], "pool": POOL}


def admit(django: ASGIHandler) -> Admission:
    """Wrap Django in the admission limits. One connection stays free for requests without a slot, such as the health
    check."""
    from flowapp.uploads.limits import body_limit
    from flowapp.web.admission import Admission, App

    return Admission(cast(App, django), body_limit, POOL["max_size"] - 1)


share_connections()
application = ClientAddress(admit(get_asgi_application()), settings.TRUSTED_PROXIES)
load_registrations()
collect_rarely()
