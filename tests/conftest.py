"""A home of its own for the test session, with the product's embedded services, started when a test first needs them.

`FLOW_TEST_POSTGRES_URL` names another server and a role that may create databases and roles there;
`FLOW_TEST_DATABASE_URL` another control database, such as `sqlite:////tmp/control.db`. `FLOW_TEST_PART` is a part of
the tests, such as `1/6`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit
from zlib import crc32

import pytest
from hypothesis import settings
from psycopg import sql

from executors.model import Connection
from flowapp.embedded.home import Home, load_secrets
from flowapp.embedded.ports import LOOPBACK, free_port
from flowapp.embedded.postgres import ADMIN, CONTROL
from flowapp.embedded.services import ServiceAddresses, Services
from tests.databases import connect_to
from tests.order import in_pieces
from tests.properties import examples
from tests.roles import new_role

POSTGRES_URL = os.environ.get("FLOW_TEST_POSTGRES_URL", "")
CONTROL_URL = os.environ.get("FLOW_TEST_DATABASE_URL", "")
PART = os.environ.get("FLOW_TEST_PART", "")
SETTINGS = "DJANGO_SETTINGS_MODULE"
"""A test process that inherits this variable loads the settings of its parent, before it has a home of its own."""

# A busy machine must not fail a property for being slow once.
settings.register_profile("flow", deadline=None, max_examples=examples(100))
settings.load_profile("flow")

# Other test processes look elsewhere, and no program is given a port from down here for its outgoing connections
# before a server of ours listens there.
_FIRST_PORT = 10_000 + 2 * (os.getpid() % 9_000)

PATH_MARKERS = {"executors/postgres": "postgres", "executors/spark": "spark", "browser": "browser"}
FIXTURE_MARKERS = {"warehouse": "postgres", "django_db_setup": "postgres", "spark": "spark", "page": "browser"}


def _make_home() -> Home:
    home = Home(Path(tempfile.mkdtemp(prefix="flow-test-")))
    home.root.chmod(0o711)
    home.make()
    for port, name in enumerate(("postgres", "redis"), _FIRST_PORT):
        home.service(name).port.write_text(str(free_port(range(port, 30_000, 2))))
    return home


def _set_environment(home: Home) -> ServiceAddresses:
    """Before Django's settings are imported: addresses where the services will be, nothing of the developer's own."""
    kept = ("FLOW_TEST_", "FLOW_SPARK_", "FLOW_FUZZ_")
    for name in [n for n in os.environ if n.startswith("FLOW_") and not n.startswith(kept)]:
        del os.environ[name]
    ports = {name: int(home.service(name).port.read_text()) for name in ("postgres", "redis")}
    addresses = ServiceAddresses(load_secrets(home), ports)
    os.environ |= {
        SETTINGS: "flowapp.settings",
        "FLOW_HOME": str(home.root),
        "FLOW_DATABASE_URL": CONTROL_URL or POSTGRES_URL or addresses.database_url,
        "FLOW_REDIS_URL": addresses.redis_url,
    }
    return addresses


HOME = _make_home()
ADDRESSES = _set_environment(HOME)


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """pytest-django sets Django up only when it finds the settings loaded."""
    from django.conf import settings

    assert HOME.root == settings.FLOW_HOME, f"the settings were loaded too early: {SETTINGS} was inherited"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    del os.environ[SETTINGS]


def pytest_unconfigure() -> None:
    shutil.rmtree(HOME.root, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    _mark(items)
    yield
    if PART:
        _select_part(config, items, *map(int, PART.split("/")))
    _order(items)


def _select_part(config: pytest.Config, items: list[pytest.Item], part: int, parts: int) -> None:
    """Leave one part of the tests, by their names, so that each test is in one part."""
    mine = [crc32(item.nodeid.encode()) % parts == part - 1 for item in items]
    config.hook.pytest_deselected(items=[item for item, is_mine in zip(items, mine, strict=True) if not is_mine])
    items[:] = [item for item, is_mine in zip(items, mine, strict=True) if is_mine]


def _mark(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        place = item.path.relative_to(here).as_posix() if item.path.is_relative_to(here) else ""
        found = {marker for path, marker in PATH_MARKERS.items() if place.startswith(path)}
        found |= {marker for name, marker in FIXTURE_MARKERS.items() if name in getattr(item, "fixturenames", ())}
        if item.get_closest_marker("django_db"):
            found.add("postgres")
        for marker in found:
            item.add_marker(marker)


def _order(items: list[pytest.Item]) -> None:
    kinds: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        kinds[item.get_closest_marker("long") is not None].append(item)
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    items[:] = in_pieces(kinds[True], kinds[False], lambda item: item.path, processes)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Hide the event loop that Playwright leaves in the main thread from a test without a browser.

    Before its fixtures are set up: Django has one connection for code in a loop and one for other code, so a fixture
    that begins a transaction must see what the test and the rollback see. Each call of Playwright shows the loop again.
    """
    if item.get_closest_marker("browser") is None:
        asyncio._set_running_loop(None)
    return (yield)


def _claim(name: str) -> Iterator[ServiceAddresses]:
    with Services.start(HOME.root, [name]) as services:
        assert services.addresses.ports[name] == ADDRESSES.ports[name], "another process took the port meanwhile"
        yield services.addresses


@pytest.fixture(scope="session")
def server() -> Iterator[Connection]:
    """The PostgreSQL server, as a role that may create roles and databases; ours is without durability, for speed."""
    if POSTGRES_URL:
        yield _parse(POSTGRES_URL)
        return
    for addresses in _claim("postgres"):
        admin = Connection("server", LOOPBACK, addresses.ports["postgres"], "postgres", ADMIN, addresses.secrets.admin)
        with connect_to(admin) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("ALTER ROLE flow_control CREATEDB")
            # Django makes its test database from there.
            connection.execute("GRANT CONNECT ON DATABASE postgres TO flow_control")
            # Half of the time that a connection takes is the hash of its password, and tests make thousands of them.
            connection.execute("ALTER ROLE flow_admin SET scram_iterations = 1")
        with connect_to(admin) as connection:
            for role, password in ((ADMIN, addresses.secrets.admin), (CONTROL, addresses.secrets.control)):
                connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), password))
        yield admin


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The broker's address."""
    for addresses in _claim("redis"):
        yield addresses.redis_url


@pytest.fixture(scope="session")
def warehouse(server: Connection) -> Iterator[Connection]:
    """A database of this session, owned by the role of the connection, which has no other rights."""
    name, password = f"flow_test_{secrets.token_hex(4)}", secrets.token_hex(16)
    with connect_to(server) as admin, new_role(admin, name, password):
        database = sql.Identifier(name)
        admin.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, database))
        yield Connection("warehouse", server.host, server.port, name, name, password)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(database))


@pytest.fixture
def schema(warehouse: Connection) -> Iterator[str]:
    """The name of an empty schema in the warehouse, dropped after the test with all that is in it."""
    name = f"t_{secrets.token_hex(4)}"
    with connect_to(warehouse) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        yield name
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def django_db_modify_db_settings(request: pytest.FixtureRequest) -> None:
    """Where the control database is the embedded one, it is started only now."""
    if not CONTROL_URL:
        request.getfixturevalue("server")
    from django.conf import settings

    name = f"flow_test_{secrets.token_hex(4)}"
    is_file = settings.DATABASES["default"]["ENGINE"].endswith("sqlite3")
    settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = str(HOME.root / name) if is_file else name


@pytest.fixture(scope="session", autouse=True)
def quick_django() -> Iterator[None]:
    """Passwords are hashed in one round, and tables of transactional tests emptied row by row.

    They hold few rows; Django would truncate all tables and make the content types, which nothing uses, anew.
    """
    from django.contrib.auth.hashers import PBKDF2PasswordHasher
    from django.test import TransactionTestCase

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PBKDF2PasswordHasher, "iterations", 1)
        patch.setattr(TransactionTestCase, "_fixture_teardown", _empty_tables)
        yield


def _empty_tables(test: object) -> None:
    """A page or a worker that is being ended may still write a row that refers to a deleted one: then again."""
    from django.db import DatabaseError

    for _ in range(3):
        try:
            return _delete_rows()
        except DatabaseError as error:
            failure = error
    raise failure


def _delete_rows() -> None:
    from django.db import connection, transaction

    with transaction.atomic(), connection.cursor() as cursor:
        for name in connection.introspection.django_table_names(only_existing=True, include_views=False):
            if not name.startswith(("django_content_type", "auth_")):
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(name)}")


@pytest.fixture(autouse=True)
def no_files_left() -> Iterator[None]:
    """The database forgets a test's workspace; its folder must not outlive it, for the next one has the same name."""
    yield
    shutil.rmtree(HOME.root / "files", ignore_errors=True)


@pytest.fixture(scope="session")
def session_environment() -> dict[str, str]:
    """The environment of another test session, which has a home and services of its own."""
    return {name: value for name, value in os.environ.items() if name != SETTINGS}


@pytest.fixture(scope="session")
def process_environment(django_db_setup: None, redis_url: str) -> dict[str, str]:
    """The environment of child processes that share the session's control database and broker."""
    from django.db import connection

    database = quote(str(connection.settings_dict["NAME"]))
    url = urlsplit(os.environ["FLOW_DATABASE_URL"])
    is_file = connection.vendor == "sqlite"
    address = f"sqlite:///{database}" if is_file else url._replace(path=f"/{database}").geturl()
    return {**os.environ, "FLOW_DATABASE_URL": address, "FLOW_REDIS_URL": redis_url}


def _parse(url: str) -> Connection:
    parts = urlsplit(url)
    return Connection(
        "server",
        parts.hostname or LOOPBACK,
        parts.port or 5432,
        unquote(parts.path.lstrip("/")) or "postgres",
        unquote(parts.username or "postgres"),
        unquote(parts.password or ""),
    )
