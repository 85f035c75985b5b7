"""Settings that all connectors of files share: which files, their format, their order, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.base import NonNegativeNumber, PositiveNumber, Spec
from ir.connectors.base import SourceConfig
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


class FilesConfig(SourceConfig):
    """Files below `path` that are read where they are and never moved."""

    path: str
    pattern: Pattern
    format: AnyFormat
    ordering: Literal["latest_by_mtime", "fifo_by_name", "lexicographic", "process_all"] = "process_all"
    wait_policy: WaitPolicy = WaitPolicy()

    @property
    def location(self) -> str:
        return self.path

    @property
    def moves_files(self) -> bool:
        """Whether a run claims files by moving them, so that one that failed is no longer where it was listed."""
        return False


class MovableFilesConfig(FilesConfig):
    """Files of a store in which a file can be moved: a run may claim and archive them."""

    atomicity: Atomicity | None = None

    @property
    def moves_files(self) -> bool:
        return self.atomicity is not None
