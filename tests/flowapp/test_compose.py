"""docker-compose.yml against the settings that exist; no engine is needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((PROJECT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SETTINGS = {
    "FLOW_HOME",
    "FLOW_DATABASE_URL",
    "FLOW_REDIS_URL",
    "FLOW_SPARK_REMOTE",
    "FLOW_SPARK_MASTER",
    "FLOW_FILES_ROOT",
    "FLOW_LAKE_FOLDER",
    "FLOW_STREAMING_ENABLED",
    "FLOW_ENV",
    "FLOW_BIND",
    "FLOW_PUBLIC_URL",
    "FLOW_SECRET_KEY",
    "FLOW_ENCRYPTION_KEYS",
    "FLOW_WORKSPACE",
    "FLOW_TRUSTED_PROXIES",
}


def test_every_part_of_flow_is_there() -> None:
    assert set(SERVICES) == {
        "web",
        "worker",
        "streams",
        "scheduler",
        "migrate",
        "postgres",
        "redis",
        "spark-master",
        "spark-worker",
    }


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_has_a_health_check_or_runs_once(name: str) -> None:
    assert "healthcheck" in SERVICES[name] or SERVICES[name]["restart"] == "no"


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_waits_for_what_is_said_of_services_that_exist(name: str) -> None:
    for other, wait in SERVICES[name].get("depends_on", {}).items():
        once = SERVICES[other]["restart"] == "no"
        assert wait["condition"] == ("service_completed_successfully" if once else "service_healthy")


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_sets_known_settings_only(name: str) -> None:
    ours = {key for key in SERVICES[name].get("environment", {}) if key.startswith("FLOW_")}
    assert ours <= SETTINGS


@pytest.mark.parametrize("name", ["worker", "spark-worker"])
def test_processes_that_load_have_the_files_and_the_encryption_keys(name: str) -> None:
    here, web = SERVICES[name], SERVICES["web"]
    assert here["environment"]["FLOW_ENCRYPTION_KEYS"] == web["environment"]["FLOW_ENCRYPTION_KEYS"]
    assert (here["volumes"], here["image"]) == (web["volumes"], web["image"])


def test_spark_workers_join_the_cluster_that_the_worker_uses() -> None:
    address = SERVICES["worker"]["environment"]["FLOW_SPARK_MASTER"]
    assert SERVICES["spark-worker"]["command"][-1].endswith(f" {address}")


def test_the_server_leaves_forwarded_addresses_to_flow() -> None:
    assert "--no-proxy-headers" in SERVICES["web"]["command"]


def test_every_volume_is_declared() -> None:
    mounted = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", ())}
    assert mounted == set(COMPOSE["volumes"])


def test_every_variable_is_in_the_example() -> None:
    used = set(re.findall(r"\$\{(\w+)", (PROJECT / "docker-compose.yml").read_text()))
    reported = set(re.findall(r"^(\w+)=", (PROJECT / ".env.example").read_text(), re.MULTILINE))
    assert used == reported


def test_the_example_holds_no_secret() -> None:
    lines = (PROJECT / ".env.example").read_text().splitlines()
    assert not [line for line in lines if re.match(r"\w*(KEY|KEYS|PASSWORD)=.", line)]


def test_containers_do_not_run_as_root() -> None:
    assert re.search(r"^USER (?!root)\w+$", (PROJECT / "Dockerfile").read_text(), re.MULTILINE)


def test_the_image_contains_the_documentation_that_pages_link():
    assert "!docs" in (PROJECT / ".dockerignore").read_text().splitlines()
