"""`http_api`: the records of a web service."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import datetime
from urllib.parse import urlencode

from executors.backfill.extents import Extent
from executors.errors import Terminal, of_node
from executors.http_api.chunks import ChunkRecords, extent_of, state_at
from executors.http_api.client import ApiClient, Page
from executors.http_api.incremental import IncrementalProgress
from executors.http_api.last_pages import doubt_of_only_page, require_last
from executors.http_api.paging import Progress, first_parameters, is_numbered, next_page
from executors.http_api.responses import has_error, records_of, value_at
from executors.http_api.totals import Total
from executors.model import SourceState
from executors.report import RunWarning
from executors.sources.base import SourceContext
from executors.sources.spooled import Fetched, Spool, SpooledSource
from executors.stores.http_client import NO_CONNECTION, HttpClient, shown
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
        self._connection = source.connection
        self._records = parse_json_path(self._config.records)
        self._noted: dict[str, RunWarning] = {}
        self._http: HttpClient | None = None
        self._note = ""

    @property
    def name(self) -> str:
        return shown(self._config.url)

    @property
    def read_note(self) -> str:
        return self._note or self.name

    @property
    def state_settings(self) -> str:
        incremental = self._config.incremental
        if incremental is None:
            return ""
        config = self._config
        settings = [config.url, config.parameters, config.records, self._connection, incremental.parameter]
        settings += [incremental.field, incremental.start]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()

    @property
    def warnings(self) -> Sequence[RunWarning]:
        return list(self._noted.values())

    @property
    def cursor_column(self) -> str | None:
        incremental = self._config.incremental
        return incremental.field if incremental is not None else None

    def find_extent(self, column: str, latest: datetime) -> Extent:
        incremental = self._config.incremental
        if incremental is None or incremental.until is None:
            raise self._cannot_be_divided()
        return extent_of(incremental, self.node, latest)

    def state_at(self, cut: str) -> SourceState | None:
        incremental = self._config.incremental
        return SourceState(self.state_settings, state_at(incremental, cut)) if incremental is not None else None

    def _note_ahead(self, field: str, records: int) -> None:
        text = (
            f"Later than this machine's clock in {field!r}: {counted(records, 'record')}. The next load "
            "begins at the highest value that is not later, so that no record before them is lost."
        )
        self._noted["ahead"] = RunWarning("rows.ahead_of_clock", self.node, text)

    def interrupt(self) -> None:
        super().interrupt()
        if (http := self._http) is not None:
            http.abort()

    def fetch(self, state: str | None, spool: Spool) -> Fetched:
        try:
            with of_node(self.node):
                return self._fetch(state, spool)
        finally:
            self._http = None  # closes its connections, because reading the rows may take hours

    def _fetch(self, state: str | None, spool: Spool) -> Fetched:
        incremental, chunk = self._config.incremental, self.context.chunk
        if incremental is not None and chunk is not None and not chunk.chunk.is_whole:
            return self._fetch_chunk(ChunkRecords(incremental, chunk.chunk), spool)
        shift = is_numbered(self._config.pages)
        since = IncrementalProgress(incremental, self.node, state, shift=shift) if incremental is not None else None
        count, total = 0, Total(self._config.total, self.name)
        begins = ", ".join(f"{name}={value}" for name, value in self._since(since).items())
        deadline = time.monotonic() + (self.context.most_seconds or float("inf"))
        reads_all = since is None or since.value is None
        for number, (page, records) in enumerate(self._pages(self._since(since), reads_all=reads_all), 1):
            self._note = f"{counted(number, 'page')} of {self.name}, {f'from {begins}' if begins else 'all records'}"
            total.add(page, has_records=bool(records))
            if since is not None:
                since.begin_page(page.sent_at)
            for record in records:
                count += 1
                if since is None or since.add(record, count):
                    spool.write(record)
            if spool.is_full or (self.context.limit is not None and time.monotonic() > deadline):
                return Fetched()  # a preview needs no more
        total.require(count)
        return self._fetched(since, count)

    def _fetch_chunk(self, chunk: ChunkRecords, spool: Spool) -> Fetched:
        """Write the records of a chunk. They have no state: the end of the backfill has one."""
        count, total = 0, Total(self._config.total, self.name)
        for page, records in self._pages(chunk.parameters):
            total.add(page, has_records=bool(records))
            count += len(records)
            for record in filter(chunk.has, records):
                spool.write(record)
        total.require(count)
        if chunk.outside:
            self.context.log(f"Outside of the chunk, and left out: {counted(chunk.outside, 'record')}.")
        return Fetched()

    def _fetched(self, since: IncrementalProgress | None, count: int) -> Fetched:
        if since is None:
            return Fetched()
        if since.ahead:
            self._note_ahead(since.field, since.ahead)
        state = since.state
        if state is None and count:
            which = "No record" if since.value is None else "No record of the first page"
            text = f"{which} has a value in {since.field!r} to begin at, so the next load reads all again."
            self._noted["no value"] = RunWarning("http_api.no_value", self.node, text)
        return Fetched(state)

    # --- pages ------------------------------------------------------------------------------------------------

    def _pages(self, asked: Mapping[str, str], *, reads_all: bool = False) -> Iterator[tuple[Page, list[str]]]:
        """Yield all pages with their records. Raises Terminal if the pages do not end."""
        client = self._client()
        fixed = {**(self._config.parameters or {}), **asked}
        url: str | None = self._url({**fixed, **first_parameters(self._config.pages)})
        seen, read, before = set[bytes](), 0, ""
        while url is not None:
            if self.context.rate is not None:
                self.context.rate.take()
            page = client.page(url)
            seen.add(_digest(url))
            value = self._value(page)
            records = list(records_of(value))
            if not records and has_error(page.text):
                raise self._failed()
            # Where Flow numbers the pages, the same records are the same page, whatever else the response contains.
            content = value if is_numbered(self._config.pages) else page.text
            if records and content == before:
                raise self._endless(len(seen))
            yield page, records
            read, before = read + len(records), content
            following = next_page(self._config.pages, Progress(page, len(seen), read, len(records)))
            url = self._url({**fixed, **following}) if isinstance(following, Mapping) else following
            self._require_new(client, url, seen)
            if url is None:
                require_last(self._config, self.name, page)
                if len(seen) == 1 and reads_all and (doubt := doubt_of_only_page(self._config, page, len(records))):
                    text = f"{self.name} {doubt}"
                    self._noted["only page"] = RunWarning("http_api.only_one_page", self.node, text)

    def _client(self) -> ApiClient:
        http = self._http = HttpClient(self.context.store or NO_CONNECTION)
        if http.lacks_secrets(self._config.url):
            raise Terminal(
                "http_api.outside_connection",
                f"{self.name} is not below {shown(http.base)}, so the secrets of the connection would not be sent.",
                hint="Choose a connection to the server of this address, or none if the address is public.",
            )
        return ApiClient(http, self._config.requests_per_minute, self.wait)

    def _since(self, since: IncrementalProgress | None) -> dict[str, str]:
        if since is None or since.parameter is None or self._config.incremental is None:
            return {}
        return {self._config.incremental.parameter: since.parameter}

    def _url(self, parameters: dict[str, str]) -> str:
        return f"{self._config.url}?{urlencode(parameters)}" if parameters else self._config.url

    def _value(self, page: Page) -> str:
        """Return the text of the list of records, or of the only record."""
        found = "null" if page.text.strip() == "null" else value_at(page.text, self._records)
        if found == "null":
            return "[]"
        if found is None or found[0] not in "[{" or (found[0] == "{" and self._needs_list):
            raise Terminal(
                "http_api.no_records",
                f"A response of {self.name} has no list of records at {self._config.records}.",
                hint="Correct records: it is the path of the list, such as $.data.",
            )
        return found

    @property
    def _needs_list(self) -> bool:
        """Return whether the response itself must be a list. An object there that is one of several responses is
        probably the message of an error."""
        several = self._config.pages is not None or self._config.incremental is not None
        return not self._records and several

    def _require_new(self, client: ApiClient, url: str | None, seen: Set[bytes]) -> None:
        if url is None:
            return
        if _digest(url) in seen or len(seen) >= MOST_PAGES:
            raise self._endless(len(seen))
        if not client.may_follow(self._config.url, url):
            raise Terminal(
                "http_api.next_elsewhere",
                f"{self.name} names a next page that is on another server, or not below the address of the connection, "
                "so it was not requested.",
                hint="Use the address of that server as url, or another kind of pages.",
            )

    def _failed(self) -> Terminal:
        return Terminal(
            "http_api.error_response",
            f"A response of {self.name} has no records but an error.",
            hint="Open the URL with the same parameters and headers, and read the error.",
        )

    def _endless(self, pages: int) -> Terminal:
        return Terminal(
            "http_api.pages_repeat",
            f"{self.name} returned a page again after {counted(pages, 'page')}, or has more than {MOST_PAGES:,}.",
            hint="Check pages: a service that does not know the parameter returns the first page again and again.",
        )


def _digest(url: str) -> bytes:
    """Return what is remembered of an address: cursors may be long, and pages many."""
    return hashlib.sha256(url.encode()).digest()
