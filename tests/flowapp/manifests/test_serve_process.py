"""`flow serve` as a process: it applies changes, ends within two seconds, and leaves the rest to the next one."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flowapp.manifests.folders import write_folder
from flowapp.pipelines.models import Pipeline
from tests.flowapp.manifests.conftest import PASSWORD, ProjectFiles, numbers

pytestmark = pytest.mark.django_db(transaction=True)

QUICKLY = """
import sys
import django; django.setup()
from flowapp.cli import main
from flowapp.manifests import leases, serving
from flowapp.manifests.cli import serve
serve.POLL_SECONDS = 0.1
leases.LEASE_SECONDS = serving.LEASE_SECONDS = 1.0
serving._PAUSES["waiting"] = 0.2
sys.exit(main(["serve", *sys.argv[1:]]))
"""
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(project: ProjectFiles, tmp_path: Path, process_environment: dict[str, str]) -> Iterator[Start]:
    """Serve the project of the test, whose files are in a folder, by a process that looks often."""
    write_folder(tmp_path, project.files)
    settings = {"FLOW_WORKSPACE": project.workspace.slug, PASSWORD: project.environment[PASSWORD]}
    running: list[subprocess.Popen[str]] = []

    def run(*options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", QUICKLY, str(tmp_path), *options]
        environment = {**process_environment, **settings}
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        running.append(process)
        limit = threading.Timer(120, process.kill)
        limit.daemon = True
        limit.start()
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """The first line that matches."""
    assert process.stdout is not None
    return next(line for line in process.stdout if re.search(pattern, line))


def end(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, float]:
    """The exit status, and how many seconds it took."""
    began = time.monotonic()
    process.send_signal(number)
    process.communicate(timeout=20)
    return process.returncode, time.monotonic() - began


def test_it_applies_what_is_written_and_ends_when_asked(start: Start, project: ProjectFiles, tmp_path: Path) -> None:
    process = start()
    wait_for(process, r"pipeline numbers: new, version 1")
    (tmp_path / "pipelines/more.json").write_text(numbers("more", project.schema))
    wait_for(process, r"pipeline more: new, version 1")
    status, seconds = end(process, signal.SIGTERM)
    assert status == 0
    assert seconds < 2


def test_invalid_files_are_named_with_their_lines(start: Start, project: ProjectFiles, tmp_path: Path) -> None:
    (tmp_path / "pipelines/bad.json").write_text('{\n"id": }')
    process = start()
    wait_for(process, r"^pipelines/bad\.json:2:\d+: error: ")
    wait_for(process, "stays as it was last applied")
    status, seconds = end(process, signal.SIGINT)
    assert (status, Pipeline.objects.count()) == (2, 0)
    assert seconds < 2


@pytest.mark.slow
def test_when_the_process_is_killed_the_waiting_one_continues(
    start: Start, project: ProjectFiles, tmp_path: Path
) -> None:
    first = start()
    wait_for(first, r"pipeline numbers: new, version 1")
    second = start()
    wait_for(second, "takes over when it ends")
    first.kill()
    (tmp_path / "pipelines/more.json").write_text(numbers("more", project.schema))
    wait_for(second, r"pipeline more: new, version 1")
    assert set(Pipeline.objects.values_list("slug", "latest_number")) == {
        (slug, 1) for slug in ("numbers", "more", "shop-orders", "shop-customers")
    }
    assert end(second, signal.SIGTERM)[0] == 0
