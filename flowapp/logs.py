"""Keep secrets and values of rows out of the log."""

from __future__ import annotations

import logging
import re
import traceback
from urllib.parse import quote, urlsplit

from django.conf import settings

URL_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^@\s/]*(@)")
SHORTEST = 6  # Redacting shorter secrets would remove ordinary text.


def known_secrets() -> set[str]:
    """Return the installation's own secrets, plain and URL-encoded."""
    secrets = {settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS, *settings.ENCRYPTION_KEYS}
    secrets.add(settings.DATABASES["default"].get("PASSWORD", ""))
    secrets.add(urlsplit(settings.REDIS_URL).password or "")
    secrets |= {quote(secret, safe="") for secret in secrets}
    return {secret for secret in secrets if len(secret) >= SHORTEST}


def redact(text: str) -> str:
    """Return the text without the installation's secrets and without passwords in URLs."""
    text = URL_PASSWORD.sub(r"\1***\2", text)
    for secret in known_secrets():
        text = text.replace(secret, "***")
    return text


def log_crash(logger: logging.Logger, what: str, error: BaseException) -> None:
    """Log an unexpected error with its types and lines of code. Messages stay out: drivers quote values of rows."""
    logger.error("%s\n%s", what, "\n".join(_outline(error)))


def _outline(error: BaseException) -> list[str]:
    """Return the error and its causes, the first cause first."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.insert(0, current)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return [_without_message(one) for one in chain]


def _without_message(error: BaseException) -> str:
    kind = type(error)
    return f"{''.join(traceback.format_tb(error.__traceback__))}{kind.__module__}.{kind.__qualname__}"


class RedactSecrets(logging.Filter):
    """Render the record with its traceback and redact the secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        return True
