"""The browser: FLOW_TEST_BROWSER, which `make test` finds or installs, else a Chromium on the path; never skipped."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from flowapp.embedded.ports import LOOPBACK, free_port
from flowapp.embedded.probe import web_answers
from flowapp.embedded.processes import end_child, wait_until

# Playwright keeps an event loop in the main thread, where Django would refuse every query from then on.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

# Tests wait for conditions, independently of the machine's speed.
expect.set_options(timeout=30_000)

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    path = os.environ.get("FLOW_TEST_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.fail("There is no browser. Run `make test`, which brings one, or set FLOW_TEST_BROWSER to its path.")
    # Chromium's own sandbox does not run as root.
    return {**browser_type_launch_args, "executable_path": path, "chromium_sandbox": os.geteuid() != 0}


@pytest.fixture(scope="session")
def base_url(process_environment: dict[str, str]) -> Iterator[str]:
    """The address of a web process on the session's databases; `page.goto("/…")` is relative to it."""
    port = str(free_port())
    environment = {**process_environment, "FLOW_BIND": f"{LOOPBACK}:{port}"}
    command = [
        *(sys.executable, "-m", "uvicorn", "flowapp.asgi:application"),
        *("--lifespan", "off", "--no-proxy-headers", "--port", port, "--timeout-graceful-shutdown", "3"),
    ]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as web:
        try:
            assert wait_until(lambda: web_answers(LOOPBACK, int(port)), 240), "the web process did not come up"
            yield f"http://{LOOPBACK}:{port}"
        finally:
            end_child(web, signal.SIGTERM)
