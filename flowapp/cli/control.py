"""The control database of commands that need it: found or started, migrated, and released at the end."""

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
    """The control database is not usable."""


ADDRESSES = {"FLOW_DATABASE_URL": "postgres", "FLOW_REDIS_URL": "redis"}
"""The embedded service that is used if a setting is missing."""


@contextmanager
def control_plane(*, with_broker: bool = False, migrate: bool = False) -> Iterator[Services]:
    """Set up Django with a migrated control database.

    Yields the embedded services that replace what is not configured. At the end of the block this process releases
    them; the last process to do so stops them. `migrate` also migrates a configured database.
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
    """Set environment variables, the only source of addresses for the settings and child processes."""
    addresses = services.addresses
    urls = {"FLOW_DATABASE_URL": lambda: addresses.database_url, "FLOW_REDIS_URL": lambda: addresses.redis_url}
    os.environ.update({name: urls[name]() for name in names})
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


def _follow_web() -> None:
    """Use the port of this home's running web process in links; it differs from the configured port if that was
    taken."""
    from flowapp.embedded.home import Home, flow_home
    from flowapp.embedded.web import served_at

    if bind := served_at(Home(flow_home())):
        os.environ["FLOW_BIND"] = bind


def _prepare_database(services: Services, migrate: bool) -> None:
    if "postgres" not in services.addresses.ports:
        migrate_if_behind() if migrate else require_migrated()
        return
    migrate_if_behind()
    # The process that started the server has called the hooks. Calling them loads all apps.
    if services.has_started("postgres"):
        from flowapp.embedded.events import server_started

        server_started(services.addresses.ports["postgres"])


def set_up_django() -> None:
    """Load settings and apps. Raises ControlUnavailable if a setting is wrong."""
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
    """Migrate the control database if needed. Of several processes one migrates and the others wait."""
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
    """Require a migrated database. Only `flow up` migrates a configured server; a SQLite file is migrated here, as it
    belongs to this machine."""
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
    """Return whether migrations are missing. Raises ControlUnavailable if the database does not respond."""
    from django.db import OperationalError, connection
    from django.db.migrations.executor import MigrationExecutor

    try:
        executor = MigrationExecutor(connection)
        return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except OperationalError:
        # Omit the driver's message, because it contains user and host.
        raise ControlUnavailable(
            "control.unreachable",
            "The control database does not answer.",
            hint="Check FLOW_DATABASE_URL and the database server.",
        ) from None


def _close_connections() -> None:
    """Close all connections before the server stops."""
    from django.db import connections

    connections.close_all()
