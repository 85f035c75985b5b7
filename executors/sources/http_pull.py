"""`http_pull`: files of web servers, read where they are."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cached_property
from typing import cast
from urllib.parse import unquote, urlsplit

from executors.errors import Terminal
from executors.model import SourceFile
from executors.secrets import encrypt_store
from executors.sources.base import FileSource, SourceContext
from executors.stores import open_encrypted
from executors.stores.files import StoreFiles
from executors.stores.http import HttpStore
from executors.stores.http_client import NO_CONNECTION, shown
from ir.connectors import config_of
from ir.connectors.http_pull import HttpPullConfig
from ir.nodes import Source
from ir.patterns import compile_pattern

AT_ONCE = 8
"""The number of files that are asked for at once."""


class HttpPull(FileSource):
    """The files of one source node. A file that does not exist (404, 410) has not arrived yet."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        self._config = config_of(source, HttpPullConfig)

    @cached_property
    def store(self) -> StoreFiles:
        return StoreFiles(encrypt_store(self.context.store or NO_CONNECTION))

    @cached_property
    def _client(self) -> HttpStore:
        return cast(HttpStore, open_encrypted(self.store.encrypted))

    def find_files(self, now: float) -> Iterator[SourceFile]:
        """Raises Terminal `source.path_missing` if the index does not exist."""
        matches = compile_pattern(self._config.pattern, datetime.fromtimestamp(now, UTC))
        wanted = [url for url in self._urls() if matches(_name_of(url))]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for url, entry in zip(wanted, pool.map(self._client.stat, wanted), strict=True):
                if entry is not None:
                    yield entry.as_file(_shown(url))

    def _urls(self) -> tuple[str, ...]:
        if self._config.index is None:
            return tuple(dict.fromkeys(self._config.addresses))
        links = self._client.links(self._config.index)
        if links is None:
            raise Terminal(
                "source.path_missing",
                f"The page {shown(self._config.index)} does not exist.",
                hint="Correct the source's index.",
                node=self.node,
            )
        return links

    def _is_settled(self, file: SourceFile, now: float, before: SourceFile | None) -> bool:
        """A server that names no time of the last change is asked twice."""
        if file.mtime_ns:
            return super()._is_settled(file, now, before)
        return not self.config.wait_policy.settle_seconds or (before is not None and before.is_same(file))


def _shown(url: str) -> str:
    return urlsplit(url).netloc + shown(urlsplit(url).path)


def _name_of(url: str) -> str:
    return unquote(urlsplit(url).path).rstrip("/").rpartition("/")[2]
