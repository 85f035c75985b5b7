"""The receiver in docs/operations/health.md, executed as printed with real messages of a channel."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from executors.hooks.webhook import sign
from flowapp.alerts.services import raise_alert
from flowapp.channels.courier import deliver_to
from flowapp.channels.kinds.webhook import WebhookAddress
from flowapp.channels.services import add_channel, send_test
from flowapp.embedded.ports import free_port
from tests.flowapp.channels.conftest import SECRET
from tests.receivers import HOST, open_network

pytestmark = pytest.mark.django_db
DOCS = Path(__file__).parents[3] / "docs" / "operations" / "health.md"


def snippet() -> str:
    [code] = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    return code


@pytest.fixture
def running(certificates, tmp_path, monkeypatch) -> Iterator[tuple[int, Path]]:
    """The snippet as a separate program: its port, and its output."""
    home = tmp_path / "receiver"
    home.mkdir()
    shutil.copy(certificates.chain, home / "cert.pem")
    shutil.copy(certificates.key, home / "key.pem")
    (home / "receiver.py").write_text(snippet())
    open_network(monkeypatch, certificates.ca, {HOST: [["127.0.0.1"]]}, "127.0.0.1/32")
    port, printed = free_port(), home / "printed"
    settings = {**os.environ, "FLOW_CHANNEL_SECRET": SECRET, "PORT": str(port)}
    with printed.open("w") as out:
        program = subprocess.Popen([sys.executable, "receiver.py"], cwd=home, env=settings, stdout=out)
        try:
            wait_for(port)
            yield port, printed
        finally:
            program.kill()
            program.wait()


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("the receiver does not listen")


def post(port: int, ca: Path, headers: dict[str, str], body: bytes) -> int:
    context = ssl.create_default_context(cafile=str(ca))
    context.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    connection.request("POST", "/", body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_it_takes_what_a_channel_sends_and_prints_it(workspace, running):
    port, printed = running
    channel = add_channel(workspace, "pager", WebhookAddress(f"https://{HOST}:{port}/", SECRET))
    assert send_test(channel).state == "delivered"
    raise_alert("run.failed", "error", "It broke in 3 rows.", "Fix it.", workspace=workspace)
    assert deliver_to(channel.pk) == 1
    assert printed.read_text().splitlines() == ["test ", "alert.opened It broke in 3 rows."]


def test_it_refuses_what_is_not_signed_by_the_channel(workspace, running):
    port, printed = running
    other = add_channel(workspace, "other", WebhookAddress(f"https://{HOST}:{port}/", "another-another-another"))
    failed = send_test(other)
    assert (failed.state, failed.error_code) == ("failed", "webhook.refused")
    assert failed.error_message.startswith("The receiver returned 401.")
    assert printed.read_text() == ""


def test_it_takes_a_message_once_and_no_old_request(certificates, running):
    port, printed = running
    body, now = b'{"event": "test"}', int(time.time())

    def ask(moment: int, **changed: str) -> int:
        headers = {
            "webhook-id": "k",
            "webhook-timestamp": str(moment),
            "webhook-signature": sign(SECRET, "k", moment, body),
            **changed,
        }
        return post(port, certificates.ca, headers, body)

    assert [ask(now), ask(now)] == [204, 204]
    assert ask(now - 3600) == 401
    assert ask(now, **{"webhook-signature": "v1,rubbish"}) == 401
    assert ask(now, **{"webhook-timestamp": "soon"}) == 401
    assert printed.read_text().splitlines() == ["test "]
