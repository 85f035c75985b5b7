"""The modules that a process loads at start."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

HEAVY = (
    "celery",
    "click",
    "executors.api",
    "executors.target_database",
    "httpx",
    "kombu",
    "numpy",
    "pandas",
    "postgast",
    "pyarrow",
    "pyspark",
    "redis",
    "rest_framework.serializers",
    "rest_framework.views",
    "ssrfguard",
)
DJANGO = "import os, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'flowapp.settings'; django.setup()"
HELP = """
import contextlib, io
import flowapp.cli
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    flowapp.cli.main({arguments})
"""


def loaded_by(source: str) -> set[str]:
    """The modules that a new process has loaded after it ran this, with a control database in SQLite."""
    script = f"import sys\n{source}\nprint(*sys.modules)"
    environment = {**os.environ, "FLOW_DATABASE_URL": "sqlite://"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_django_starts_without_what_runs_and_pages_need() -> None:
    assert loaded_by(DJANGO) & {*HEAVY, "psycopg", "rich.console"} == set()


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]], ids=" ".join)
def test_help_needs_neither_django_nor_what_runs_need(arguments: list[str]) -> None:
    assert loaded_by(HELP.format(arguments=arguments)) & {*HEAVY, "psycopg", "django", "pydantic"} == set()


def test_a_plan_without_changes_needs_nothing_of_what_runs_need() -> None:
    source = f"{DJANGO}\nimport flowapp.manifests.cli.plan, flowapp.manifests.planning"
    assert loaded_by(source) & set(HEAVY) == set()


def test_the_databases_are_asked_without_what_runs_need() -> None:
    heavy = set(HEAVY) - {"executors.target_database", "numpy", "postgast", "pyarrow"}
    assert loaded_by(f"{DJANGO}\nimport flowapp.manifests.structure") & heavy == set()
