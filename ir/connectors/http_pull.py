"""The `http_pull` connector: files that a web server offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field

from ir.connectors.base import Connector
from ir.connectors.files import FilesConfig, Pattern
from ir.diagnostics import Diagnostic, diagnose
from ir.pointers import Pointer

Url = Annotated[str, Field(min_length=1, max_length=2000)]
MOST_URLS = 1000


class HttpPullConfig(FilesConfig):
    """Files of a web server, which are read where they are. One of `url`, `urls` and `index` says which ones."""

    model_config = ConfigDict(title="Files of a web server")

    url: Url | None = Field(
        None,
        title="URL",
        description="The address of one file.",
        examples=["https://data.example.com/orders.csv"],
    )
    urls: Annotated[list[Url], Field(min_length=1, max_length=MOST_URLS)] | None = Field(
        None, title="URLs", description="The addresses of several files, instead of one."
    )
    index: Url | None = Field(
        None,
        title="Index",
        description="The address of a page with links to files, instead of their addresses: HTML, a JSON list, or a "
        "line for each file. Links count if they are on the same server, below the folder of the page.",
        examples=["https://data.example.com/orders/"],
    )
    pattern: Pattern = Field(
        Pattern(type="glob", value="*"), title="File names", description="Which file names match; all by default."
    )

    @property
    def location(self) -> str:
        """The address without its query, which may be long."""
        found = self.index or self.url or (self.urls or [""])[0]
        return found.partition("?")[0]

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of the files; empty with an index."""
        return (self.url,) if self.url else tuple(self.urls or ())

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        given = [name for name in ("url", "urls", "index") if getattr(self, name) is not None]
        if len(given) != 1:
            named = f"has {' and '.join(given)}" if given else "has none of them"
            message = f"The source needs exactly one of url, urls and index; it {named}."
            yield diagnose("http.one_address", at, message)
        for name in ("url", "index"):
            yield from _check_url(getattr(self, name), at / name)
        for i, url in enumerate(self.urls or ()):
            yield from _check_url(url, at / "urls" / i)


def _check_url(url: str | None, at: Pointer) -> Iterator[Diagnostic]:
    """Check the form of an address. The message does not repeat it, because a part of it may be secret."""
    if url is not None and not is_plain(url):
        yield diagnose("http.address", at, "The URL must be http or https with a host, without user and fragment.")


def is_plain(url: str) -> bool:
    """Return whether this is an http or https URL with a host and without user and fragment."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    has_form = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    return has_form and "@" not in parts.netloc and "#" not in url and url.isascii() and url.isprintable()


CONNECTOR = Connector(
    "http_pull",
    "Web server",
    "Files that are downloaded from URLs.",
    HttpPullConfig,
    connection_kind="http",
    connection_for="an address at which Flow must sign in",
    starts_with={"format": {"type": "csv", "header": True}},
)
