"""The `local_fs` connector: files in the workspace's folder."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.base import Spec
from ir.formats import Format


class Pattern(Spec):
    """Which file names match."""

    type: Literal["glob", "regex", "date_template"]
    value: Annotated[str, Field(min_length=1)]
    timezone: str = "UTC"


class WaitPolicy(Spec):
    """How long to wait for files, and what to do when none come."""

    max_retries: Annotated[int, Field(ge=0, le=1000)] = 0
    interval_minutes: Annotated[int | float, Field(gt=0)] = 10
    settle_seconds: Annotated[int | float, Field(ge=0)] = 5
    on_miss_action: Literal["alert", "skip", "fail"] = "fail"


class Atomicity(Spec):
    """Folders (relative to `path`) that a file passes through: claimed, then done or failed."""

    staging_folder: str
    success_folder: str
    failure_folder: str


class LocalFsConfig(Spec):
    """Files under `path`, relative to the workspace's folder."""

    path: str
    pattern: Pattern
    format: Format
    ordering: Literal["latest_by_mtime", "fifo_by_name", "lexicographic", "process_all"] = "process_all"
    wait_policy: WaitPolicy = WaitPolicy()
    atomicity: Atomicity | None = None
