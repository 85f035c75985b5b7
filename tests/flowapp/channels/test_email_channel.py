"""Alerts by mail, against a real SMTP server."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from flowapp.alerts.services import raise_alert
from flowapp.channels.courier import deliver_to
from flowapp.channels.kinds import email
from flowapp.channels.kinds.base import InvalidChannel
from flowapp.channels.kinds.email import Mailbox
from flowapp.channels.serializers import ChannelSerializer
from flowapp.channels.services import add_channel, change_address, send_test
from flowapp.connections.rotation import rotate_secrets
from tests.flowapp.channels.mail_server import PASSWORD, USER, serving

pytestmark = pytest.mark.django_db
TO = ("ops@example.com", "lead@example.com")


@pytest.fixture
def mails(workspace, mail_server):
    """Adds a channel to the server."""

    def add(name: str = "ops", **changes):
        fields = {
            "host": "localhost",
            "port": mail_server.port,
            "sender": "flow@example.com",
            "to": TO,
            "user": USER,
            "password": PASSWORD,
            **changes,
        }
        return add_channel(workspace, name, Mailbox(**fields))

    return add


def test_an_alert_is_mailed_encrypted_to_all_recipients(pipeline, mails, mail_server):
    channel = mails()
    raise_alert("run.failed", "error", "It broke in 3 rows.", "Fix it.", pipeline=pipeline)
    deliver_to(channel.pk)
    [mail] = mail_server.mails
    assert mail["Subject"] == "[Flow alices-team] Error: A run failed in numbers"
    assert mail["Message-ID"] == f"<{channel.deliveries.get().key}@example.com>"
    assert {"It broke in 3 rows.", "Fix it."} <= set(mail.get_content().splitlines())
    assert "/w/alices-team/health/" in mail.get_content()
    assert (mail_server.recipients, mail_server.encrypted) == ([list(TO)], [True])


def test_many_alerts_at_once_are_one_mail(pipeline, mails, mail_server):
    channel = mails()
    for number in range(30):
        raise_alert(
            "run.failed",
            "error" if number < 3 else "warning",
            f"Number {number}.",
            "n",
            pipeline=pipeline,
            node=f"n{number}",
        )
    assert deliver_to(channel.pk) == 30
    [mail] = mail_server.mails
    assert mail["Subject"] == "[Flow alices-team] 30 messages, 3 errors"
    assert all(f"Number {number}." in mail.get_content() for number in range(30))


def test_no_message_breaks_out_of_the_mail(pipeline, mails, mail_server):
    channel = mails()
    raise_alert("run.failed", "error", "ä\r\n.\r\nBcc: evil@example.com\r\n", "n", pipeline=pipeline)
    deliver_to(channel.pk)
    [mail] = mail_server.mails
    assert mail["Bcc"] is None
    assert "Bcc: evil@example.com" in mail.get_content()


def test_a_wrong_password_is_reported_and_can_be_replaced(mails, mail_server):
    channel = mails(password="wr0ng-PASSWORD")
    failed = send_test(channel)
    assert (failed.state, failed.error_code) == ("failed", "mail.login_refused")
    assert "wr0ng" not in failed.error_message
    change_address(channel, {"password": PASSWORD})
    assert send_test(channel).state == "delivered"


def test_a_recipient_that_is_refused_is_noted_and_all_of_them_fail(mails, mail_server):
    channel = mails()
    mail_server.refuses = {TO[0]}
    partly = send_test(channel)
    assert (partly.state, partly.error_message) == ("delivered", "1 of 2 recipients were refused.")
    mail_server.refuses = set(TO)
    assert send_test(channel).error_code == "mail.recipients_refused"


def test_a_busy_mail_server_is_retried_and_a_refusal_is_not(pipeline, mails, mail_server):
    channel = mails()
    mail_server.answer = "451 later"
    raise_alert("run.failed", "error", "m", "n", pipeline=pipeline)
    deliver_to(channel.pk)
    assert channel.deliveries.get().state == "pending"
    mail_server.answer = "554 spam"
    assert send_test(channel).error_code == "mail.refused"


def test_a_server_without_encryption_gets_no_password(workspace, certificates):
    with serving(certificates, starttls=False) as server:
        fields = {"host": "localhost", "port": server.port, "sender": "flow@example.com", "to": TO}
        channel = add_channel(workspace, "a", Mailbox(**fields, user=USER, password=PASSWORD))
        assert send_test(channel).error_code == "mail.not_supported"
        assert send_test(add_channel(workspace, "b", Mailbox(**fields, security="none"))).state == "delivered"


def test_a_certificate_of_another_name_is_refused(mails):
    assert send_test(mails(host="127.0.0.1")).error_code == "mail.certificate"


def test_nobody_at_the_address_is_reported_without_its_answer(mails, workspace):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
    failed = send_test(mails("a", port=port))
    assert (failed.error_code, failed.error_message) == (
        "mail.nothing_listens",
        f"Connection refused by localhost:{port}. Start the server, or correct host and port.",
    )


def test_a_mail_server_that_responds_too_slowly_is_abandoned(mails, monkeypatch):
    monkeypatch.setattr(email, "TOTAL_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_drip, args=(server,), daemon=True).start()
        channel = mails(port=server.getsockname()[1])
        started = time.monotonic()
        assert send_test(channel).error_code == "mail.timeout"
        assert time.monotonic() - started < 3


def _drip(server: socket.socket) -> None:
    peer, _ = server.accept()
    with peer:
        try:
            while True:
                peer.sendall(b"2")
                time.sleep(0.1)
        except OSError:
            return


@pytest.mark.parametrize(
    "changes",
    [
        {"to": ()},
        {"to": ("a@example.com",) * 21},
        {"to": ("a\r\nBcc: b@example.com",)},
        {"sender": "nobody"},
        {"security": "none"},
        {"to": ("ä@example.com",)},
    ],
)
def test_what_could_not_be_mailed_is_refused(mails, changes):
    with pytest.raises(InvalidChannel):
        mails(**changes)


def test_the_password_is_stored_encrypted_and_never_shown(mails):
    from flowapp.channels.models import Channel

    channel = mails()
    assert PASSWORD not in f"{Channel.objects.values().get()} {ChannelSerializer(channel).data}"
    assert ChannelSerializer(channel).data["to"] == list(TO)


def test_secrets_of_channels_are_rotated_with_all_others(mails, settings):
    from cryptography.fernet import Fernet

    channel = mails()
    new = Fernet.generate_key().decode()
    settings.ENCRYPTION_KEYS = [new, *settings.ENCRYPTION_KEYS]
    assert rotate_secrets() == 1
    settings.ENCRYPTION_KEYS = [new]
    channel.refresh_from_db()
    assert send_test(channel).state == "delivered"


def test_a_login_that_no_mail_can_be_sent_with_is_refused_at_once(mails):
    with pytest.raises(InvalidChannel) as caught:
        mails(password="pässword")
    assert caught.value.code == "channel.login_invalid"
    assert "pässword" not in f"{caught.value.message} {caught.value.hint}"
    with pytest.raises(InvalidChannel):
        change_address(mails(), {"password": "pässword"})
