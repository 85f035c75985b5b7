"""The health endpoint tells what it knows, and says so where it cannot tell."""

from __future__ import annotations

import subprocess
import sys

import pytest

from flowapp.health.heartbeats import HeartbeatThread, beat
from flowapp.health.models import Heartbeat

URL = "/api/health/"


@pytest.fixture
def broker(settings, redis_url):
    settings.REDIS_URL = redis_url


@pytest.mark.django_db
def test_all_parts_are_told(client, broker):
    beat("w1", "worker")
    beat("w2", "worker")
    response = client.get(URL)
    assert response.status_code == 200
    told = {name: part["status"] for name, part in response.json().items()}
    assert told == {"database": "ok", "broker": "ok", "workers": "ok", "scheduler": "down"}
    assert response.json()["workers"]["alive"] == 2


@pytest.mark.django_db
def test_a_broker_that_does_not_answer_is_down(client, settings):
    settings.REDIS_URL = "redis://:secretword@127.0.0.1:1/0"
    response = client.get(URL)
    assert response.json()["broker"]["status"] == "down"
    assert "secretword" not in response.content.decode()


@pytest.mark.django_db
def test_a_broker_that_is_not_configured_cannot_be_told(client, settings):
    settings.REDIS_URL = ""
    assert client.get(URL).json()["broker"]["status"] == "cannot tell"


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
    assert done.stdout.strip() == "503|down|ok|cannot tell|cannot tell", done.stderr
    assert "secretword" not in done.stdout + done.stderr


@pytest.mark.django_db(transaction=True)
def test_a_process_beats_until_it_stops():
    thread = HeartbeatThread("w", "worker")
    thread.start()
    while not Heartbeat.objects.filter(name="w").exists():
        thread.join(0.01)
    thread.stop()
    assert not Heartbeat.objects.exists()
