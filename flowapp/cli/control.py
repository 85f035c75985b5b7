"""The control database for commands that need it: found or started, migrated, and released at the end."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ir.errors import FlowError

if TYPE_CHECKING:
    from flowapp.embedded.services import Services

SETTINGS = "flowapp.settings"


class ControlUnavailable(FlowError):
    """The control database cannot be used as things stand."""


ADDRESSES = {"FLOW_DATABASE_URL": "postgres", "FLOW_REDIS_URL": "redis"}
"""Which embedded service stands in for a setting that is not there."""


@contextmanager
def control_plane(*, with_broker: bool = False, migrate: bool = False) -> Iterator[Services]:
    """Django ready on a migrated control database.

    Yields the embedded services that stand in for what is not configured. This process' hold on them ends with the
    block; they stop when it was the last one. `migrate` brings a configured database up to date as well.
    """
    from flowapp.embedded.services import Services

    wanted = ["FLOW_DATABASE_URL", "FLOW_REDIS_URL"] if with_broker else ["FLOW_DATABASE_URL"]
    missing = [name for name in wanted if not os.environ.get(name)]
    with Services.start(names=[ADDRESSES[name] for name in missing]) as services, _in_environment(missing, services):
        _follow_web()
        set_up_django()
        _prepare_database(services, migrate)
        try:
            yield services
        finally:
            if missing:
                _close_connections()


@contextmanager
def _in_environment(names: list[str], services: Services) -> Iterator[None]:
    """Settings and child processes read addresses from there alone."""
    addresses = services.addresses
    urls = {"FLOW_DATABASE_URL": lambda: addresses.database_url, "FLOW_REDIS_URL": lambda: addresses.redis_url}
    os.environ.update({name: urls[name]() for name in names})
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


def _follow_web() -> None:
    """The web of this home may have another port than the one it was to have, when that was taken: links name it."""
    from flowapp.embedded.home import Home, flow_home
    from flowapp.embedded.web import served_at

    if bind := served_at(Home(flow_home())):
        os.environ["FLOW_BIND"] = bind


def _prepare_database(services: Services, migrate: bool) -> None:
    if "postgres" not in services.addresses.ports:
        migrate_if_behind() if migrate else require_migrated()
        return
    from flowapp.embedded.events import server_started

    migrate_if_behind()
    server_started(services.addresses.ports["postgres"])


def set_up_django() -> None:
    """Load settings and apps; raises ControlUnavailable if a setting is wrong."""
    import django
    from django.core.exceptions import ImproperlyConfigured

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise ControlUnavailable(
            "settings.invalid", getattr(error, "message", str(error)), hint=getattr(error, "hint", "")
        ) from None


def migrate_if_behind() -> None:
    """Bring the control database up to date. Of several processes one migrates and the others wait."""
    from django.core.management import call_command

    from flowapp.embedded.home import Home, flow_home

    if not is_behind():
        return
    Home(flow_home()).make()
    lock = os.open(flow_home() / "migrate.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call_command("migrate", interactive=False, verbosity=0)
    finally:
        os.close(lock)


def require_migrated() -> None:
    """A database of the user's own is migrated only by `flow up`; SQLite belongs to this machine alone and follows."""
    from django.db import connection

    if connection.vendor == "sqlite":
        migrate_if_behind()
    elif is_behind():
        raise ControlUnavailable(
            "control.behind",
            "The schema of the control database is out of date.",
            hint="Run `flow up` to migrate it.",
        )


def is_behind() -> bool:
    """Whether migrations are missing; raises ControlUnavailable if the database does not answer."""
    from django.db import OperationalError, connection
    from django.db.migrations.executor import MigrationExecutor

    try:
        executor = MigrationExecutor(connection)
        return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except OperationalError:
        # The driver's own message would repeat user and host, and stays out.
        raise ControlUnavailable(
            "control.unreachable",
            "The control database does not answer.",
            hint="Check FLOW_DATABASE_URL and the database server.",
        ) from None


def _close_connections() -> None:
    """Before the server under them stops."""
    from django.db import connections

    connections.close_all()
