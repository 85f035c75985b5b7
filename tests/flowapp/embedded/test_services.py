"""The embedded services as a user meets them: started, joined, crashed, started again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from flowapp.embedded.errors import EmbeddedError
from flowapp.embedded.home import PROJECT, Home, load_secrets
from flowapp.embedded.ports import free_port
from flowapp.embedded.processes import command_line, is_running, wait_until
from flowapp.embedded.services import Services
from flowapp.embedded.warehouses import ensure_warehouse

HOLD = "import sys, time; from pathlib import Path; from flowapp.embedded.services import Services\n"
HOLD += "services = Services.start(Path(sys.argv[1])); print('up', flush=True); time.sleep(60)"


@contextmanager
def home_folder() -> Iterator[Path]:
    """A short path outside pytest's folders, which root keeps closed to all others."""
    with tempfile.TemporaryDirectory(prefix="flow-home-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o711)
        yield Path(folder)


def choose_ports(root: Path) -> None:
    """Ports of its own, for another Flow may run on this machine."""
    for name in ("postgres", "redis"):
        Home(root).service(name).port.write_text(str(free_port()))


@pytest.fixture(scope="session")
def used_home() -> Iterator[Path]:
    """A home whose database is made: a second of work that few tests are about."""
    with home_folder() as root:
        choose_ports(root)
        with Services.start(root, ["postgres"]):
            pass
        yield root


@pytest.fixture
def root(used_home: Path) -> Iterator[Path]:
    """A home of the test's own, used before."""
    with home_folder() as root:
        subprocess.run(["cp", "-a", f"{used_home}/.", root], check=True)
        choose_ports(root)
        yield root


@pytest.fixture
def new_root() -> Iterator[Path]:
    """A home that nothing ran in yet."""
    with home_folder() as root:
        choose_ports(root)
        yield root


def state(root: Path, name: str) -> dict[str, int]:
    return json.loads((root / f"{name}.json").read_text())


def ask(services: Services) -> str:
    with psycopg.connect(services.addresses.database_url) as connection:
        return str(connection.execute("SELECT current_user").fetchone()[0])  # type: ignore[index]


def process_list() -> str:
    """The command lines of all processes."""
    return "\n".join(command_line(int(entry.name)) for entry in Path("/proc").glob("[0-9]*"))


def hold(root: Path) -> subprocess.Popen[bytes]:
    """Another process that uses the services."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, root], cwd=PROJECT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_both_services_answer_and_stop_with_their_last_user(root: Path) -> None:
    with Services.start(root) as services:
        assert ask(services) == "flow_control"
        with redis.Redis.from_url(services.addresses.redis_url) as broker:
            assert broker.ping()
        pids = [state(root, name)["pid"] for name in ("postgres", "redis")]
    assert not any(map(is_running, pids))


def test_the_role_of_the_control_database_has_no_rights_beyond_it(root: Path) -> None:
    with Services.start(root, ["postgres"]) as services:
        ensure_warehouse(services.addresses, "alices")
        url = services.addresses.database_url
        with psycopg.connect(url) as connection:
            rights = "SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = current_user"
            assert connection.execute(rights).fetchone() == (False, False, False)
        for database in ("warehouse_alices", "postgres", "template1"):
            with pytest.raises(psycopg.OperationalError, match="permission denied"):
                psycopg.connect(url, dbname=database)


def test_a_wrong_password_is_refused(root: Path) -> None:
    with Services.start(root) as services:
        secrets = load_secrets(Home(root))
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            psycopg.connect(services.addresses.database_url.replace(secrets.control, "guess"))
        with (
            redis.Redis.from_url(services.addresses.redis_url.replace(secrets.broker, "guess")) as broker,
            pytest.raises(redis.AuthenticationError),
        ):
            broker.ping()


def test_passwords_are_hidden_from_other_users_and_from_argument_lists(root: Path) -> None:
    with Services.start(root):
        secrets = load_secrets(Home(root))
        assert (root / "secrets.json").stat().st_mode & 0o077 == 0
        listed = process_list()
        assert not any(s in listed for s in (secrets.admin, secrets.control, secrets.warehouse, secrets.broker))


def test_a_process_knows_whether_it_started_a_service_or_joined_it(root: Path) -> None:
    with Services.start(root, ["postgres"]) as first, Services.start(root, ["postgres"]) as second:
        assert [services.has_started("postgres") for services in (first, second)] == [True, False]
        assert not first.has_started("redis")


def test_a_user_that_leaves_does_not_stop_the_services_of_another(root: Path) -> None:
    first = Services.start(root)
    with Services.start(root) as second:
        first.close()
        assert ask(second) == "flow_control"


def test_starters_at_once_share_one_server(new_root: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        holders = list(pool.map(hold, [new_root] * 4))
    with Services.start(new_root) as services:
        assert ask(services) == "flow_control"
        servers = [line for line in process_list().splitlines() if f"-D {new_root}/" in line]
        assert len(servers) == 1
    for holder in holders:
        kill(holder)


def test_services_stop_when_their_user_is_killed(root: Path) -> None:
    holder = hold(root)
    pids = [state(root, name)["pid"] for name in ("postgres", "redis")]
    kill(holder)
    assert wait_until(lambda: not any(map(is_running, pids)), 10)


def test_a_killed_supervisor_leaves_nothing_that_blocks_the_next_start(root: Path) -> None:
    holder = hold(root)
    supervisors = [state(root, name)["supervisor"] for name in ("postgres", "redis")]
    for supervisor in supervisors:
        os.kill(supervisor, signal.SIGKILL)
    kill(holder)
    # A server that has not noticed the end of its supervisor would still accept connections.
    assert wait_until(lambda: not any(map(is_running, supervisors)), 20)
    with Services.start(root) as services:
        assert ask(services) == "flow_control"


def test_a_killed_server_is_started_again_where_its_users_look_for_it(root: Path) -> None:
    with Services.start(root) as services:
        for name in ("postgres", "redis"):
            os.kill(state(root, name)["pid"], signal.SIGKILL)
        time.sleep(0.3)
        with Services.start(root) as again:
            assert again.addresses == services.addresses
            assert ask(services) == "flow_control"


def test_a_pid_file_that_names_a_stranger_does_not_block_the_start(root: Path) -> None:
    with Services.start(root, ["postgres"]):
        pass
    pid_file = next(root.glob("services/postgres")) / "postmaster.pid"
    pid_file.write_text(f"{os.getpid()}\n")
    with Services.start(root, ["postgres"]) as services:
        assert ask(services) == "flow_control"


def test_data_and_ports_outlive_the_services(root: Path) -> None:
    with Services.start(root) as services, psycopg.connect(services.addresses.database_url) as connection:
        before = services.addresses
        connection.execute("CREATE TABLE kept AS SELECT 1 AS one")
    with Services.start(root) as services, psycopg.connect(services.addresses.database_url) as connection:
        assert services.addresses == before
        assert connection.execute("SELECT one FROM kept").fetchone() == (1,)


def test_a_taken_port_is_answered_with_a_free_one(root: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        (root / "postgres.port").write_text(str(taken.getsockname()[1]))
        with Services.start(root, ["postgres"]) as services:
            assert services.addresses.ports["postgres"] != taken.getsockname()[1]


def test_a_home_that_cannot_be_made_is_named() -> None:
    with pytest.raises(EmbeddedError, match="cannot be written") as caught:
        Services.start(Path("/proc/flow"))
    assert "/proc/flow" in caught.value.message


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the servers as somebody else")
def test_root_keeps_data_elsewhere_when_the_server_cannot_reach_the_home(new_root: Path) -> None:
    root = new_root
    root.chmod(0o700)
    try:
        with Services.start(root, ["postgres"]) as services:
            assert ask(services) == "flow_control"
    finally:
        moved = Path((root / "services.moved").read_text().strip())
        shutil.rmtree(moved)
    assert moved.parent == Path("/var/lib/flow")
