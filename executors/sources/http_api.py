"""`http_api`: the records of a web service."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

from executors.errors import Terminal, Transient, of_node
from executors.http_api.client import ApiClient, Page
from executors.http_api.paging import Progress, first_parameters, next_page
from executors.http_api.responses import records_of, scalar_at, value_at
from executors.http_api.since import Since
from executors.report import RunWarning
from executors.sources.base import SourceContext
from executors.sources.spooled import Fetched, Spool, SpooledSource
from executors.stores.http_client import NO_CONNECTION, HttpClient, origin_of, shown
from ir.connectors import config_of
from ir.connectors.http_api import HttpApiConfig
from ir.json_paths import parse_json_path
from ir.nodes import Source
from ir.words import counted

MOST_PAGES = 100_000


class HttpApi(SpooledSource):
    """One source node. Pages are requested one after the other. Of records that change meanwhile, the service decides
    whether they are missing or come twice."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        self._config = config_of(source, HttpApiConfig)
        self._records = parse_json_path(self._config.records)
        self._ahead = 0

    @property
    def name(self) -> str:
        return shown(self._config.url)

    @property
    def state_settings(self) -> str:
        incremental = self._config.incremental
        if incremental is None:
            return ""
        settings = [self._config.url, self._config.parameters, incremental.parameter, incremental.field]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()

    @property
    def warnings(self) -> Sequence[RunWarning]:
        if not self._ahead:
            return ()
        field = self._config.incremental.field if self._config.incremental is not None else ""
        text = (
            f"Later than this machine's clock in {field!r}: {counted(self._ahead, 'record')}. The next load "
            "begins at the highest value that is not later, so that no record before them is lost."
        )
        return (RunWarning("rows.ahead_of_clock", self.node, text),)

    def fetch(self, state: str | None, spool: Spool) -> Fetched:
        with of_node(self.node):
            return self._fetch(state, spool)

    def _fetch(self, state: str | None, spool: Spool) -> Fetched:
        incremental = self._config.incremental
        since = Since(incremental, self.node, state) if incremental is not None else None
        count, total = 0, None
        for page, records in self._pages(since):
            total = self._total(page)
            for record in records:
                count += 1
                if since is None or since.add(record, count):
                    spool.write(record)
            if spool.is_full:
                return Fetched()
        self._require_total(total, count)
        self._ahead = since.ahead if since is not None else 0
        return Fetched(since.state if since is not None else None)

    def _total(self, page: Page) -> str | None:
        return scalar_at(page.text, parse_json_path(self._config.total)) if self._config.total is not None else None

    def _require_total(self, total: str | None, rows: int) -> None:
        if self._config.total is not None and total != str(rows):
            raise Transient(
                "http_api.count_differs",
                f"{self.name} returned {counted(rows, 'record')}, but {total or 'no number'} at {self._config.total}.",
                hint="Records may have changed between two pages: run the pipeline again. If the number always "
                "differs, check pages and total.",
            )

    # --- pages ------------------------------------------------------------------------------------------------

    def _pages(self, since: Since | None) -> Iterator[tuple[Page, list[str]]]:
        """Yield all pages with their records; for a preview, those within its time. Raises Terminal if the pages do not
        end."""
        client = ApiClient(HttpClient(self.context.store or NO_CONNECTION), self._config.requests_per_minute, self.wait)
        deadline = time.monotonic() + (self.context.most_seconds or float("inf"))
        fixed = {**(self._config.parameters or {}), **self._since(since)}
        url: str | None = self._url({**fixed, **first_parameters(self._config.pages)})
        seen, read, before = set[str](), 0, ""
        while url is not None:
            page = client.page(url)
            seen.add(url)
            records = list(records_of(self._value(page)))
            if records and page.text == before:
                raise self._endless(len(seen))
            yield page, records
            if self.context.limit is not None and time.monotonic() > deadline:
                return
            read, before = read + len(records), page.text
            following = next_page(self._config.pages, Progress(page, len(seen), read, len(records)))
            url = following if following is None or isinstance(following, str) else self._url({**fixed, **following})
            self._require_new(url, seen)

    def _since(self, since: Since | None) -> dict[str, str]:
        if since is None or since.parameter is None or self._config.incremental is None:
            return {}
        return {self._config.incremental.parameter: since.parameter}

    def _url(self, parameters: dict[str, str]) -> str:
        return f"{self._config.url}?{urlencode(parameters)}" if parameters else self._config.url

    def _value(self, page: Page) -> str:
        """Return the text of the list of records."""
        found = value_at(page.text, self._records)
        if found == "null":
            return "[]"
        if found is None or found[0] not in "[{":
            raise Terminal(
                "http_api.no_records",
                f"A response of {self.name} has no list of records at {self._config.records}.",
                hint="Correct records: it is the path of the list, such as $.data.",
            )
        return found

    def _require_new(self, url: str | None, seen: set[str]) -> None:
        if url in seen or len(seen) >= MOST_PAGES:
            raise self._endless(len(seen))
        if url is not None and origin_of(url) != origin_of(self._config.url):
            raise Terminal(
                "http_api.next_elsewhere",
                f"{self.name} names a next page on another server, so it was not requested.",
                hint="Use the address of that server as url, or another kind of pages.",
            )

    def _endless(self, pages: int) -> Terminal:
        return Terminal(
            "http_api.pages_repeat",
            f"{self.name} returned a page again after {counted(pages, 'page')}, or has more than {MOST_PAGES:,}.",
            hint="Check pages: a service that does not know the parameter returns the first page again and again.",
        )
