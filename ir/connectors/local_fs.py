"""The `local_fs` connector: files in the workspace's folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.base import NonNegativeNumber, PositiveNumber, Spec
from ir.connectors.base import Connector
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.formats import AnyFormat
from ir.paths import check_folder
from ir.patterns import check_pattern
from ir.pointers import Pointer
from ir.timezones import check_timezone


class Pattern(Spec):
    """Which file names match: a glob, an RE2 regex over the whole name, or a glob with date tokens."""

    type: Literal["glob", "regex", "date_template"]
    value: Annotated[str, Field(min_length=1, max_length=1000)]
    timezone: str = "UTC"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_pattern(self.type, self.value, at / "value")
        yield from check_timezone(self.timezone, at / "timezone")


class WaitPolicy(Spec):
    """How long to wait for files, and what to do when none come."""

    max_retries: Annotated[int, Field(ge=0, le=1000)] = 0
    interval_minutes: PositiveNumber = 10
    settle_seconds: NonNegativeNumber = 5
    on_miss_action: Literal["alert", "skip", "fail"] = "fail"


class Atomicity(Spec):
    """Folders (relative to `path`) that a file passes through: claimed, then done or failed."""

    staging_folder: str
    success_folder: str
    failure_folder: str

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        seen: set[str] = set()
        for name in ("stagingFolder", "successFolder", "failureFolder"):
            folder = getattr(self, _FOLDER_FIELDS[name])
            yield from check_folder(folder, at / name, tokens=True)
            place = folder.strip("/").removeprefix("./")
            if place in (*seen, "", "."):
                message = f"The folder {shown(folder)} already has another purpose."
                yield diagnose("atomicity.folders", at / name, message)
            seen.add(place)


_FOLDER_FIELDS = {
    "stagingFolder": "staging_folder",
    "successFolder": "success_folder",
    "failureFolder": "failure_folder",
}


class LocalFsConfig(Spec):
    """Files under `path`, relative to the workspace's folder."""

    path: str
    pattern: Pattern
    format: AnyFormat
    ordering: Literal["latest_by_mtime", "fifo_by_name", "lexicographic", "process_all"] = "process_all"
    wait_policy: WaitPolicy = WaitPolicy()
    atomicity: Atomicity | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_folder(self.path, at / "path", tokens=False)


CONNECTOR = Connector("local_fs", "Files in the workspace's folder.", LocalFsConfig)
