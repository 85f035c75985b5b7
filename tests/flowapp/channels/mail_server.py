"""A real SMTP server on this machine: STARTTLS, sign-in, and answers that a test may choose."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session

from flowapp.embedded.ports import free_port
from tests.receivers import Certificates

logging.getLogger("mail.log").setLevel(logging.WARNING)
USER, PASSWORD = "flow", "mail-PASSW0RD"


@dataclass
class MailServer:
    """`refuses` are recipients that are answered with 550, `answer` is the response to a complete mail."""

    host: str = "localhost"
    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    refuses: set[str] = field(default_factory=set)
    answer: str = "250 OK"

    async def handle_RCPT(self, server: Any, session: Session, envelope: Envelope, address: str, options: Any) -> str:  # noqa: N802 - aiosmtpd's name
        if address in self.refuses:
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.answer.startswith("250"):
            mail = message_from_bytes(envelope.content, policy=policy.default)
            assert isinstance(mail, EmailMessage)
            self.mails.append(mail)
            self.recipients.append(list(envelope.rcpt_tos))
            self.encrypted.append(session.ssl is not None)
        return self.answer


def check_password(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
    good = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=good, handled=False)


@contextmanager
def serving(certificates: Certificates, *, starttls: bool = True) -> Iterator[MailServer]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.chain, certificates.key)
    server = MailServer(port=free_port())
    tls = {"tls_context": context, "authenticator": check_password, "auth_required": False} if starttls else {}
    controller = Controller(server, hostname="127.0.0.1", port=server.port, **tls)
    controller.start()
    try:
        yield server
    finally:
        controller.stop()
