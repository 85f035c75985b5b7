"""Settings of all connectors for files: file names, format, order, waiting, and archiving."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic.config import JsonDict

from ir.base import NonNegativeNumber, PositiveNumber, Spec
from ir.connectors.base import SourceConfig
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.formats import AnyFormat
from ir.paths import check_folder
from ir.patterns import Matcher, check_pattern, compile_pattern
from ir.pointers import Pointer
from ir.timezones import check_timezone

ARRIVAL: JsonDict = {"group": "Order, waiting and archive folders", "advanced": True}


class Pattern(Spec):
    """Which file names match."""

    type: Literal["glob", "regex", "date_template"] = Field(
        title="Pattern type",
        description="glob: * and ? stand for any characters. regex: an RE2 expression for the whole name. "
        "date_template: a glob with the date of the run, such as orders-{YYYY-MM-DD}.csv.",
    )
    value: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        title="Pattern", description="The pattern for the file names.", examples=["orders-*.csv"]
    )
    timezone: str = Field(
        "UTC",
        title="Time zone",
        description="The IANA time zone of the dates in a date template.",
        json_schema_extra={"advanced": True},
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_pattern(self.type, self.value, at / "value")
        yield from check_timezone(self.timezone, at / "timezone")


class WaitPolicy(Spec):
    """How long to wait for files, and what to do if there are none."""

    max_retries: Annotated[int, Field(ge=0, le=1000)] = Field(
        0, title="Look again", description="How many times to look again if no file is found."
    )
    interval_minutes: PositiveNumber = Field(
        10,
        title="Wait before looking again",
        description="The time between two searches for files.",
        json_schema_extra={"unit": "min"},
    )
    settle_seconds: NonNegativeNumber = Field(
        5,
        title="Wait until the file is unchanged",
        description="A file is read only after its size and time have not changed for this long.",
        json_schema_extra={"unit": "s"},
    )
    on_miss_action: Literal["alert", "skip", "fail"] = Field(
        "fail",
        title="If no file is found",
        description="What the run does if no file is found.",
        json_schema_extra={
            "labels": {"alert": "succeed and raise an alert", "skip": "succeed", "fail": "fail the run"}
        },
    )


class Atomicity(Spec):
    """Moves each file to another folder when its load begins and when it ends."""

    staging_folder: str = Field(
        title="Folder during the load",
        description="Relative to the path. Files are moved here when their load begins.",
        examples=["staging"],
    )
    success_folder: str = Field(
        title="Folder after success",
        description="Relative to the path. Loaded files are moved here. Date tokens such as {YYYY} are allowed.",
        examples=["done/{YYYY}-{MM}"],
    )
    failure_folder: str = Field(
        title="Folder after failure",
        description="Relative to the path. Files that could not be loaded are moved here.",
        examples=["failed"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_archive_folders(self, ("staging_folder", "success_folder", "failure_folder"), at)


def check_archive_folders(spec: Spec, names: Sequence[str], at: Pointer) -> Iterator[Diagnostic]:
    """Check that these folders, which are fields of a part, stay below the path and differ from each other."""
    seen: set[str] = set()
    for name in names:
        folder, field_at = getattr(spec, name), at / to_camel(name)
        yield from check_folder(folder, field_at, tokens=True)
        relative = folder.strip("/").removeprefix("./")
        if relative in (*seen, "", "."):
            yield diagnose("atomicity.folders", field_at, f"The folder {shown(folder)} already has another purpose.")
        seen.add(relative)


class FilesConfig(SourceConfig):
    """Files that are read where they are and never moved. Connectors add where they are."""

    model_config = ConfigDict(title="Files")

    pattern: Pattern = Field(title="File names", description="Which file names match.")
    format: AnyFormat = Field(title="Format", description="How to read the files.")
    members: Pattern | None = Field(
        None,
        title="Files in ZIP archives",
        description="Which files in matching ZIP archives are read. Without it, those whose names end as usual for the "
        "format, such as .csv.",
        json_schema_extra=ARRIVAL,
    )
    ordering: Literal["latest_by_mtime", "fifo_by_name", "lexicographic", "process_all"] = Field(
        "process_all",
        title="Order of files",
        description="process_all and lexicographic load all new files, by name. fifo_by_name does the same, but after "
        "a failed file all later files wait. latest_by_mtime loads only the newest file.",
        json_schema_extra=ARRIVAL,
    )
    wait_policy: WaitPolicy = Field(
        WaitPolicy(),
        title="Waiting",
        description="How long to wait for files, and what to do if there are none.",
        json_schema_extra=ARRIVAL,
    )

    def member_matcher(self, now: datetime) -> Matcher | None:
        """Return which names of files in ZIP archives match at the time `now` (aware); None if the format is not read
        from archives."""
        if self.format.endings is None:
            return None
        return compile_pattern(self.members, now) if self.members else self.format.is_usual

    @property
    def ends_on_bad_row(self) -> bool:
        return getattr(self.format, "on_bad_row", "reject") == "abort"

    @property
    def moves_files(self) -> bool:
        """Whether a run claims files by moving them, so that a failed file is no longer in its folder."""
        return False


class _InFolder(SourceConfig):
    path: str = Field(title="Folder", description="The folder of the files.", examples=["orders"])

    @property
    def location(self) -> str:
        return self.path


# In this order, so that the path is the first field.
class FolderFilesConfig(FilesConfig, _InFolder):
    """Files below `path`."""


class MovableFilesConfig(FolderFilesConfig):
    """Files of a storage that can move files: a run can claim and archive them."""

    atomicity: Atomicity | None = Field(
        None,
        title="Folders",
        description="Moves each file to another folder when its load begins and when it ends.",
        json_schema_extra=ARRIVAL,
    )

    @property
    def moves_files(self) -> bool:
        return self.atomicity is not None
