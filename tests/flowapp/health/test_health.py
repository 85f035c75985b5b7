"""The health endpoint reports each part, unknown if it cannot be checked."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest
from django.utils import timezone

from flowapp.processes.heartbeats import HeartbeatThread, beat, spark_name
from flowapp.processes.models import Heartbeat

URL = "/api/health/"


@pytest.fixture
def broker(settings, redis_url):
    settings.REDIS_URL = redis_url


@pytest.mark.django_db
def test_all_parts_are_reported(client, broker):
    beat("w1", "worker")
    beat("w2", "worker")
    response = client.get(URL)
    assert response.status_code == 200
    reported = {name: part["status"] for name, part in response.json().items()}
    assert reported == {
        "database": "ok",
        "broker": "ok",
        "workers": "ok",
        "scheduler": "down",
        "spark": "unknown",
    }
    assert response.json()["workers"]["alive"] == 2


@pytest.mark.django_db
def test_a_broker_that_does_not_answer_is_down(client, settings):
    settings.REDIS_URL = "redis://:secretword@127.0.0.1:1/0"
    response = client.get(URL)
    assert response.json()["broker"]["status"] == "down"
    assert "secretword" not in response.content.decode()


@pytest.mark.django_db
def test_a_broker_that_is_not_configured_cannot_be_reported(client, settings):
    settings.REDIS_URL = ""
    assert client.get(URL).json()["broker"]["status"] == "unknown"


def test_without_the_database_nothing_is_green(tmp_path, redis_url):
    """A process of its own, whose control database does not exist."""
    script = (
        "import django; django.setup()\n"
        "from django.test import Client\n"
        "response = Client(SERVER_NAME='localhost').get('/api/health/')\n"
        "print(response.status_code, *(part['status'] for part in response.json().values()), sep='|')\n"
    )
    environment = {
        "PATH": "/usr/bin:/bin",
        "DJANGO_SETTINGS_MODULE": "flowapp.settings",
        "FLOW_HOME": str(tmp_path),
        "FLOW_DATABASE_URL": "postgresql://nobody:secretword@127.0.0.1:1/none",
        "FLOW_REDIS_URL": redis_url,
    }
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "503|down|ok|unknown|unknown|unknown", done.stderr
    assert "secretword" not in done.stdout + done.stderr


@pytest.mark.django_db(transaction=True)
def test_a_process_beats_until_it_stops():
    thread = HeartbeatThread("w", "worker")
    thread.start()
    while not Heartbeat.objects.filter(name="w").exists():
        thread.join(0.01)
    thread.stop()
    assert not Heartbeat.objects.exists()


@pytest.mark.django_db
def test_only_workers_report_spark(client, broker):
    def spark() -> tuple[str, int]:
        reported = client.get(URL).json()["spark"]
        return reported["status"], reported["alive"]

    beat(spark_name("gone"), "spark")
    assert spark() == ("unknown", 0)
    beat("w", "worker")
    Heartbeat.objects.filter(role="spark").update(seen_at=timezone.now() - timedelta(hours=1))
    assert spark() == ("unknown", 0)
    beat(spark_name("w"), "spark")
    assert spark() == ("ok", 1)
    Heartbeat.objects.filter(role="spark").update(seen_at=timezone.now() - timedelta(hours=1))
    assert spark() == ("down", 0)


@pytest.mark.django_db
def test_a_spark_elsewhere_that_no_worker_hears_is_down_at_once(client, broker, monkeypatch):
    monkeypatch.setenv("FLOW_SPARK_REMOTE", "sc://spark.example:15002/;token=secret")
    beat("w", "worker")
    reported = client.get(URL).json()["spark"]
    assert reported["status"] == "down"
    assert "server sc://spark.example:15002 answers no worker" in reported["detail"]
    beat(spark_name("w"), "spark")
    assert client.get(URL).json()["spark"]["status"] == "ok"


@pytest.mark.django_db(transaction=True)
def test_a_heart_beats_only_while_it_lives():
    lives = [False]
    thread = HeartbeatThread("w spark", "spark", lambda: lives[0])
    thread._beat()
    assert not Heartbeat.objects.exists()
    lives[0] = True
    thread._beat()
    assert Heartbeat.objects.get().role == "spark"
