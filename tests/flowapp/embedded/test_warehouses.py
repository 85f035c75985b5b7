"""Warehouses of workspaces on the server that came along."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from executors.model import Connection
from flowapp.embedded.home import Home, load_secrets
from flowapp.embedded.services import ServiceAddresses
from flowapp.embedded.warehouses import ensure_warehouse, note_password, warehouse_fields, warehouse_name

pytestmark = pytest.mark.postgres


@pytest.fixture
def addresses(server: Connection) -> ServiceAddresses:
    if os.environ.get("FLOW_TEST_POSTGRES_URL"):
        pytest.skip("the server is not the one that came along")
    return ServiceAddresses(load_secrets(Home(Path(os.environ["FLOW_HOME"]))), {"postgres": server.port})


def login(fields: Mapping[str, str | int]) -> dict[str, str | int]:
    """The fields as the driver takes them."""
    return {"dbname" if name == "database" else name: value for name, value in fields.items()}


def test_a_workspace_enters_its_own_warehouse_alone(addresses: ServiceAddresses) -> None:
    mine, yours = (ensure_warehouse(addresses, name) for name in ("alices", "bobs"))
    with psycopg.connect(**login(yours)) as connection:
        rights = (
            "SELECT rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls FROM pg_roles"
            " WHERE rolname = current_user"
        )
        assert connection.execute(rights).fetchone() == (False,) * 5
        connection.execute("CREATE TABLE public.theirs (a integer)")
    for database in (mine["database"], "flow_control", "postgres", "template1"):
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(**{**login(yours), "dbname": database})


def test_a_warehouse_that_is_there_keeps_its_rows_and_its_password_fits_again(addresses: ServiceAddresses) -> None:
    fields = ensure_warehouse(addresses, "alices")
    with psycopg.connect(**login(fields)) as connection:
        connection.execute("CREATE TABLE public.t AS SELECT 1 AS a")
        connection.execute("ALTER ROLE CURRENT_USER PASSWORD 'another'")
    assert ensure_warehouse(addresses, "alices") == fields
    with psycopg.connect(**login(fields)) as connection:
        assert connection.execute("SELECT a FROM public.t").fetchone() == (1,)


def test_a_warehouse_that_was_half_made_is_finished(addresses: ServiceAddresses) -> None:
    admin = {**login(ensure_warehouse(addresses, "alices")), "user": "flow_admin", "dbname": "postgres"}
    with psycopg.connect(**admin | {"password": addresses.secrets.admin}, autocommit=True) as connection:
        connection.execute("ALTER DATABASE warehouse_alices ALLOW_CONNECTIONS false")
        connection.execute("GRANT CONNECT ON DATABASE warehouse_alices TO PUBLIC")
    fields = ensure_warehouse(addresses, "alices")
    psycopg.connect(**login(fields)).close()
    other = ensure_warehouse(addresses, "bobs")
    with pytest.raises(psycopg.OperationalError, match="permission denied"):
        psycopg.connect(**{**login(other), "dbname": "warehouse_alices"})


def test_concurrent_requests_for_a_warehouse_get_the_same(addresses: ServiceAddresses) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: ensure_warehouse(addresses, "alices"), range(4)))
        assert found == [found[0]] * 4
        psycopg.connect(**login(found[0])).close()


def test_passwords_of_warehouses_are_stored_for_psql_only(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make()
    addresses = ServiceAddresses(load_secrets(home), {"postgres": 5433})
    for name in ("alices", "bobs", "alices"):
        note_password(home, warehouse_fields(addresses, name))
    path = tmp_path / "pgpass"
    lines = path.read_text().splitlines()
    assert [line.split(":")[:4] for line in lines] == [
        ["127.0.0.1", "*", f"warehouse_{name}", f"warehouse_{name}"] for name in ("alices", "bobs")
    ]
    assert path.stat().st_mode & 0o077 == 0


def test_names_of_warehouses_fit_and_differ() -> None:
    slugs = ["default", "a" * 63, "a" * 62 + "b", "a" * 62]
    names = [warehouse_name(slug) for slug in slugs]
    assert names[0] == "warehouse_default"
    assert len(set(names)) == len(slugs)
    assert max(map(len, names)) <= 63
