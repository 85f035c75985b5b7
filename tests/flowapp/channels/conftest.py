"""Channels that really receive: a mail server and a webhook receiver on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.flowapp.channels.mail_server import MailServer, serving
from tests.flowapp.web.conftest import as_, person
from tests.receivers import HOST, Certificates, Receiver, make_certificates, open_network, receiving

if TYPE_CHECKING:
    from flowapp.channels.models import Channel

__all__ = ["as_", "person"]
SECRET = "S1GNING-S1GNING-S1GNING"


@pytest.fixture
def certificates(tmp_path, monkeypatch) -> Certificates:
    """Of the names of the tests, by a CA that this process trusts."""
    made = make_certificates(tmp_path, HOST, "localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(made.ca))
    return made


@pytest.fixture
def receiver(certificates, monkeypatch) -> Iterator[Receiver]:
    open_network(monkeypatch, certificates.ca, {HOST: [["127.0.0.1"]]}, "127.0.0.1/32")
    with receiving(certificates) as receiver:
        yield receiver


@pytest.fixture
def pager(workspace, receiver) -> Callable[..., Channel]:
    """Adds a webhook channel to the receiver."""

    from flowapp.channels.kinds.webhook import WebhookAddress
    from flowapp.channels.services import add_channel

    def add(name: str = "pager", **wanted: object) -> Channel:
        return add_channel(workspace, name, WebhookAddress(f"{receiver.url}/T0KEN", SECRET), **wanted)

    return add


@pytest.fixture
def mail_server(certificates) -> Iterator[MailServer]:
    with serving(certificates) as server:
        yield server
