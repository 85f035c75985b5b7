"""Send mail by SMTP, several messages in one mail. The server may be in a private network, as mail servers often
are."""

from __future__ import annotations

import smtplib
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate
from socket import SHUT_RDWR
from typing import Any, ClassVar, Literal

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from executors.api import describe_connection_failure
from executors.errors import Failure, Terminal, Transient
from flowapp.channels.kinds.base import ChannelField, ChannelKind, InvalidChannel, Option
from flowapp.channels.message import Message, subject_of
from flowapp.connections.fields import require_host

Security = Literal["starttls", "tls", "none"]
PORTS: dict[Security, int] = {"starttls": 587, "tls": 465, "none": 25}
MOST_RECIPIENTS = 20
TOTAL_SECONDS = 10.0
SILENT_SECONDS = 5.0
MOST_AT_ONCE = 50
FINAL = frozenset({"certificate", "no_tls", "tls"})
"""Codes of `describe_connection_failure` for failures that a retry does not fix."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """The SMTP server, the sender and the recipients. Without a user there is no login."""

    kind: ClassVar[str] = "email"
    host: str
    sender: str
    to: Sequence[str]
    security: Security = "starttls"
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def real_port(self) -> int:
        return self.port or PORTS[self.security]


def check(mailbox: Mailbox) -> None:
    require_host(mailbox.host)
    if not 1 <= len(mailbox.to) <= MOST_RECIPIENTS:
        raise InvalidChannel(
            "channel.recipients_invalid",
            f"An email needs 1 to {MOST_RECIPIENTS} recipients.",
            hint="For more people, use the address of a mailing list.",
        )
    for address in (mailbox.sender, *mailbox.to):
        _require_address(address)
    if not (mailbox.user + mailbox.password).isascii():
        raise InvalidChannel(
            "channel.login_invalid",
            "The user and password of a mail server must be printable ASCII.",
            hint="Use a password without accented letters for the account on the mail server.",
        )
    if mailbox.password and mailbox.security == "none":
        raise InvalidChannel(
            "channel.password_in_clear",
            "The password would be sent unencrypted.",
            hint="Use starttls or tls, or a server that accepts mail without a password.",
        )


def _require_address(address: str) -> None:
    try:
        validate_email(address)
        address.encode("ascii")
    except (ValidationError, UnicodeEncodeError):
        raise InvalidChannel(
            "channel.address_invalid",
            f"{address[:100]!r} is not a valid email address.",
            hint="Write it like ops@example.com.",
        ) from None


def public_settings(mailbox: Mailbox) -> dict[str, Any]:
    return {
        "host": mailbox.host,
        "port": mailbox.real_port,
        "security": mailbox.security,
        "user": mailbox.user,
        "sender": mailbox.sender,
        "to": list(mailbox.to),
    }


def send(packed: Mapping[str, Any], messages: Sequence[Message], key: str) -> str:
    mailbox = Mailbox(**packed)
    refused = _Mailing(mailbox, mail_of(mailbox, messages, key)).send()
    return f"{len(refused)} of {len(mailbox.to)} recipients were refused." if refused else ""


def mail_of(mailbox: Mailbox, messages: Sequence[Message], key: str) -> EmailMessage:
    """Return one mail with all messages. A resent mail has the same message id."""
    mail = EmailMessage()
    mail["Subject"] = subject_of(messages)
    mail["From"] = _address(mailbox.sender, "Flow")
    mail["To"] = [_address(address) for address in mailbox.to]
    mail["Date"] = formatdate()
    mail["Message-ID"] = f"<{key}@{mailbox.sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content("\n\n".join("\n".join(message.lines) for message in messages) + "\n")
    return mail


def _address(text: str, name: str = "") -> Address:
    return Address(name, addr_spec=text)


class _Mailing:
    """One SMTP session in its own thread, because only another thread can limit the time of a very slow server."""

    def __init__(self, mailbox: Mailbox, mail: EmailMessage) -> None:
        self._mailbox, self._mail = mailbox, mail
        self._smtp: smtplib.SMTP | None = None
        self._refused: Mapping[str, Any] = {}
        self._trouble: BaseException | None = None
        self._over = threading.Event()

    def send(self) -> Mapping[str, Any]:
        """Send the mail; return the recipients that the server refused while it accepted others. Raises Failure."""
        threading.Thread(target=self._run, name="mail", daemon=True).start()
        if not self._over.wait(TOTAL_SECONDS):
            self._hang_up()
            raise Transient(
                "mail.timeout",
                f"The mail server was not done within {TOTAL_SECONDS:g} seconds.",
                hint="See its log. It may be busy, or it may not be a mail server.",
            )
        if self._trouble is not None:
            address = f"{self._mailbox.host}:{self._mailbox.real_port}"
            raise _failure_of(self._trouble, address) from self._trouble
        return self._refused

    def _hang_up(self) -> None:
        sock = self._smtp.sock if self._smtp else None
        if sock is not None:
            try:
                sock.shutdown(SHUT_RDWR)
            except OSError:
                return  # The server has already closed the session.

    def _run(self) -> None:
        try:
            self._send()
        except BaseException as trouble:  # noqa: BLE001 - it is raised where the mail was to be sent
            self._trouble = trouble
        finally:
            self._over.set()

    def _send(self) -> None:
        mailbox = self._mailbox
        with _connect(mailbox) as self._smtp:
            if mailbox.security == "starttls":
                self._smtp.starttls(context=ssl.create_default_context())
            if mailbox.user:
                self._smtp.login(mailbox.user, mailbox.password)
            self._refused = self._smtp.send_message(self._mail, mailbox.sender, list(mailbox.to))


def _connect(mailbox: Mailbox) -> smtplib.SMTP:
    if mailbox.security == "tls":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(mailbox.host, mailbox.real_port, timeout=SILENT_SECONDS, context=context)
    return smtplib.SMTP(mailbox.host, mailbox.real_port, timeout=SILENT_SECONDS)


def _failure_of(trouble: BaseException, address: str) -> Failure:
    """Convert an SMTP error to a Failure with the status number only: the host may not be a mail server, so its text is
    not safe to show."""
    if isinstance(trouble, smtplib.SMTPAuthenticationError):
        return Terminal(
            "mail.login_refused",
            f"The mail server refused user and password (code {trouble.smtp_code}).",
            hint="Correct the user, or replace the password of the channel.",
        )
    if isinstance(trouble, smtplib.SMTPRecipientsRefused):
        codes = sorted({code for code, _ in trouble.recipients.values()})
        return _answered("mail.recipients_refused", codes[0], "to all recipients")
    if isinstance(trouble, smtplib.SMTPSenderRefused):
        return _answered("mail.sender_refused", trouble.smtp_code, "to the sender's address")
    if isinstance(trouble, smtplib.SMTPResponseException):
        return _answered("mail.refused", trouble.smtp_code, "and accepted no mail")
    if isinstance(trouble, smtplib.SMTPNotSupportedError):
        return Terminal(
            "mail.not_supported",
            "The mail server does not offer this encryption or sign-in.",
            hint="Correct security, port and user of the channel.",
        )
    if isinstance(trouble, OSError | smtplib.SMTPException):
        why = describe_connection_failure(trouble, address, ended=(smtplib.SMTPException,))
        kind = Terminal if why.code in FINAL else Transient
        return kind(f"mail.{why.code}", why.message, hint=why.hint)
    raise trouble


def _answered(code: str, number: int, where: str) -> Failure:
    """Classify a server's answer. SMTP status 500 and above is permanent."""
    kind = Terminal if number >= 500 else Transient
    return kind(code, f"The mail server answered {number} {where}.", hint="See the mail server's log.")


def _host_and_port(text: str) -> dict[str, Any]:
    """Parse `HOST[:PORT]` of the command line. Raises ValueError."""
    host, _, port = text.partition(":")
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"{port!r} is not a port")
    return {"host": host, "port": int(port or 0)}


FIELDS = (
    ChannelField(
        "to",
        "To",
        "lines",
        "One address per line.",
        max_length=254,
        is_changeable=True,
        option=Option("--to", "ADDRESS", "a recipient; may be repeated"),
    ),
    ChannelField(
        "sender",
        "From",
        max_length=254,
        is_changeable=True,
        option=Option("--sender", "ADDRESS", "the sender's address"),
    ),
    ChannelField(
        "host",
        "Mail server",
        help="Such as smtp.example.com.",
        max_length=253,
        is_changeable=True,
        option=Option("--smtp", "HOST[:PORT]", "the mail server", _host_and_port),
    ),
    ChannelField(
        "security",
        "Encryption",
        "choice",
        required=False,
        choices=(
            ("starttls", "STARTTLS"),
            ("tls", "TLS from the start"),
            ("none", "none; a password cannot be used"),
        ),
        is_changeable=True,
        option=Option("--security", "NAME", "the encryption: starttls (the default), tls or none"),
    ),
    ChannelField(
        "port",
        "Port",
        "port",
        f"Default: {PORTS['starttls']} for STARTTLS, {PORTS['tls']} for TLS, {PORTS['none']} for none.",
        required=False,
        is_changeable=True,
    ),
    ChannelField(
        "user",
        "User",
        required=False,
        max_length=254,
        is_changeable=True,
        option=Option("--user", "NAME", "the user of the mail server"),
    ),
    ChannelField(
        "password",
        "Password",
        help="Stored encrypted. Leave it empty if the server needs no password.",
        required=False,
        is_secret=True,
    ),
)
KIND = ChannelKind(
    label="Email",
    address=Mailbox,
    fields=FIELDS,
    public_fields=tuple(field for field in FIELDS if not field.is_secret),
    most_at_once=MOST_AT_ONCE,
    check=check,
    public_settings=public_settings,
    recipient=lambda settings: ", ".join(settings["to"]),
    send=send,
    error_fields={
        "channel.recipients_invalid": "to",
        "channel.password_in_clear": "security",
        "channel.login_invalid": "password",
        "connection.host_invalid": "host",
    },
    secret_goes_to=lambda mailbox: (mailbox.host.lower(), mailbox.real_port, mailbox.security),
)
