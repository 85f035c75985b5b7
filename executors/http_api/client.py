"""Requests pages of a web service, not faster than it permits."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from executors.errors import Terminal, Transient
from executors.http_api.links import next_link
from executors.http_api.responses import NotJson, check_json
from executors.stores.http_client import HttpClient, origin_of, shown

PAGE_BYTES = 32 << 20
TRIES = 6
FIRST_WAIT, MOST_WAIT = 1.0, 300.0
"""Seconds before the second try, doubled for each one after it, and the longest that a server may ask to wait."""
_LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses after which the same request may succeed."""


@dataclass(frozen=True, slots=True)
class Page:
    """A response: its final URL after redirects, its text, which is JSON, the URL in its Link header, and the time of
    the server's clock in seconds since 1970, if it says so. `is_part` is set if it calls itself a part of the whole."""

    url: str
    text: str
    next_link: str | None
    sent_at: float | None
    is_part: bool


class _LaterError(Exception):
    """The server may answer the same request later. `seconds` is how long it asks to wait, None if it does not say."""

    def __init__(self, why: str, seconds: float | None) -> None:
        super().__init__(why)
        self.seconds = seconds


class ApiClient:
    """Sends one request after another. `wait` waits for a number of seconds and raises if the run ends."""

    def __init__(self, http: HttpClient, per_minute: int | None, wait: Callable[[float], None]) -> None:
        self._http, self._wait = http, wait
        self._interval = 60 / per_minute if per_minute else 0.0
        self._next = 0.0

    def may_follow(self, first: str, url: str) -> bool:
        """Return whether a next page may be requested: on the server of the first one, and with the same secrets."""
        return origin_of(url) == origin_of(first) and not self._http.lacks_secrets(url)

    def page(self, url: str) -> Page:
        """Request a page; try again after passing failures. Raises Failure."""
        delay = FIRST_WAIT
        for left in range(TRIES - 1, -1, -1):
            self._pace()
            try:
                return self._page(url)
            except _LaterError as later:
                wait = delay if later.seconds is None else later.seconds
                if not left or wait > MOST_WAIT:
                    raise _not_now(url, str(later), later.seconds) from None
            except Transient:
                if not left:
                    raise
                wait = delay
            self._wait(wait)
            delay = min(2 * delay, MOST_WAIT)
        raise AssertionError("the last try returns or raises")

    def _pace(self) -> None:
        now = time.monotonic()
        self._wait(max(0.0, self._next - now))
        self._next = max(now, self._next) + self._interval

    def _page(self, url: str) -> Page:
        with self._http.response(url, {"accept": "application/json"}) as response:
            if response.status_code in _LATER:
                raise _LaterError(f"It returned {response.status_code}", _retry_after(response.headers))
            if response.status_code != 204:
                self._http.require_ok(response, url)
            final = self._http.without_secrets(str(response.url))
            if urlsplit(url).query and not urlsplit(final).query:
                raise _lost_parameters(url)
            body = b"null" if response.status_code == 204 else self._http.body(response, url, PAGE_BYTES)
            link, sent_at = next_link(response.headers.get("link", "")), _time(response.headers.get("date", ""))
            return Page(final, _text_of(body, url), link, sent_at, is_part=response.status_code == 206)


def _lost_parameters(url: str) -> Terminal:
    return Terminal(
        "source.redirect_refused",
        f"{shown(url)} redirects to an address without the parameters, which would return other records.",
        hint="Use the address that the server redirects to.",
    )


def _text_of(body: bytes | None, url: str) -> str:
    if body is None:
        raise Terminal(
            "http_api.page_too_large",
            f"A response of {shown(url)} has more than {PAGE_BYTES >> 20} MB.",
            hint="Ask for fewer records per page with a parameter of the service.",
        )
    try:
        text = body.decode("utf-8-sig")
        check_json(text)
    except UnicodeDecodeError as error:
        raise _not_json(url, f"it is not UTF-8 at byte {error.start:,}") from None
    except NotJson as error:
        raise _not_json(url, str(error)) from None
    return text


def _not_json(url: str, why: str) -> Terminal:
    return Terminal(
        "http_api.not_json",
        f"A response of {shown(url)} is not JSON: {why}.",
        hint="Open the URL with the same parameters and headers, and check what it returns.",
    )


def _not_now(url: str, why: str, seconds: float | None) -> Transient:
    asked = f" and asks to wait {seconds:,.0f} s" if seconds is not None else f" {TRIES} times"
    return Transient(
        "http_api.refused_for_now",
        f"The service of {shown(url)} does not answer now. {why}{asked}.",
        hint="Run the pipeline again later. Limit requestsPerMinute if the service limits requests.",
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of the Retry-After header: a number, or a time."""
    written = headers.get("retry-after", "").strip()
    if written.isdecimal() and written.isascii():
        return float(written)
    at = _time(written)
    return None if at is None else max(0.0, at - time.time())


def _time(written: str) -> float | None:
    """Return the time in a header. One without a zone is of UTC."""
    try:
        found = parsedate_to_datetime(written)
        return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).timestamp()
    except (ValueError, OverflowError):
        return None
