"""The browser: FLOW_TEST_BROWSER, which `make test` finds or installs, else a Chromium on the path; never skipped."""

from __future__ import annotations

import os
import shutil
from typing import Any

import pytest

# Playwright keeps an event loop in the main thread, where Django would refuse every query from then on.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    path = os.environ.get("FLOW_TEST_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.fail("There is no browser. Run `make test`, which brings one, or set FLOW_TEST_BROWSER to its path.")
    # Chromium's own sandbox does not run as root.
    return {**browser_type_launch_args, "executable_path": path, "chromium_sandbox": os.geteuid() != 0}


@pytest.fixture(scope="session")
def base_url() -> str:
    """Tests give whole addresses. The plug-in's own fixture is written in a way that pytest has deprecated."""
    return ""
