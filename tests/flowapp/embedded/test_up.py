"""`flow up` as a user meets it, with everything embedded."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flowapp.embedded.home import Home
from flowapp.embedded.ports import LOOPBACK, free_port
from flowapp.embedded.processes import command_line, wait_until

pytestmark = pytest.mark.long
Up = Callable[[], subprocess.Popen[str]]


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="flow-up-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o711)
        yield Path(folder)


@pytest.fixture
def start(root: Path) -> Iterator[Up]:
    """Start `flow up` in the home, on a port that is taken."""
    running: list[subprocess.Popen[str]] = []
    settings = {k: v for k, v in os.environ.items() if not k.startswith("FLOW_")}
    for name in ("postgres", "redis"):
        Home(root).service(name).port.write_text(str(free_port()))

    with socket.create_server((LOOPBACK, 0)) as taken:
        bind = f"{LOOPBACK}:{taken.getsockname()[1]}"

        def run() -> subprocess.Popen[str]:
            command = [Path(sys.executable).parent / "flow", "up"]
            environment = {**settings, "FLOW_HOME": str(root), "FLOW_BIND": bind}
            process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
            running.append(process)
            limit = threading.Timer(180, process.kill)
            limit.daemon = True
            limit.start()
            return process

        yield run
    for process in running:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """The first line of output that matches."""
    assert process.stdout is not None
    return next(found for found in map(re.compile(pattern).search, process.stdout) if found)


def made_link(root: Path) -> str:
    """Return the link that `flow user link` prints for a new user."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith("FLOW_")} | {"FLOW_HOME": str(root)}
    for command in (["add", "--role", "viewer"], ["link"]):
        flow = [Path(sys.executable).parent / "flow", "user", *command, "ann@example.org", "--json"]
        done = subprocess.run(flow, env=settings, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    return str(json.loads(done.stdout)["url"])


def processes_of(root: Path) -> list[str]:
    """Command lines of all processes that have this home in their environment or arguments."""
    needle = str(root).encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if needle in (entry / "environ").read_bytes() or needle in (entry / "cmdline").read_bytes():
                found.append(command_line(int(entry.name)))
        except OSError:
            continue
    return found


def test_it_serves_on_a_free_port_and_stops_with_all_it_started(start: Up, root: Path) -> None:
    process = start()
    wait_for(process, r"Port \d+ is taken")
    address = wait_for(process, r"Flow is up at (http://\S+)")[1]
    with urllib.request.urlopen(f"{address}/api/health/", timeout=10) as answer:
        assert answer.status == 200
    link = wait_for(process, rf"Sign in, once, with ({address}/login/\S+)")[1]
    with urllib.request.urlopen(link, timeout=10) as answer:
        assert b"The link works once" in answer.read()
    assert made_link(root).startswith(f"{address}/login/"), "commands beside it know the port too"
    process.send_signal(signal.SIGINT)
    assert "Stopped." in process.communicate(timeout=30)[0]
    assert process.returncode == 0
    assert wait_until(lambda: not processes_of(root), 5), processes_of(root)


@pytest.mark.slow
def test_after_a_kill_nothing_is_left_and_the_next_start_works(start: Up, root: Path) -> None:
    process = start()
    wait_for(process, "Flow is up")
    process.kill()
    assert wait_until(lambda: not processes_of(root), 20), processes_of(root)
    wait_for(start(), "Flow is up")
