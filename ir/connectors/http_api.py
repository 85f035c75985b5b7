"""The `http_api` connector: records that a web service returns as JSON, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from ir.annotations import ByTag, JsonScalar
from ir.backfill import BackfillHint
from ir.base import Spec
from ir.connectors.base import Connector, SourceConfig
from ir.connectors.http_pull import Url, is_plain
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.json_paths import check_json_path
from ir.pointers import Pointer
from ir.secret_names import looks_secret
from ir.watermarks import LONGEST_LAG, parse_lag

ParameterName = Annotated[str, Field(min_length=1, max_length=200)]
ParameterValue = Annotated[str, Field(max_length=2000)]
JsonPath = Annotated[str, Field(min_length=1, max_length=1000)]


class PageNumber(Spec):
    """Pages are numbered. The last one is followed by a page without records."""

    model_config = ConfigDict(title="Number of the page")
    type: Literal["page"]
    parameter: ParameterName = Field(
        "page", title="Page parameter", description="The query parameter for the number of the page."
    )
    first: Annotated[int, Field(ge=0, le=1)] = Field(1, title="First page", description="The number of the first page.")


class Offset(Spec):
    """Pages begin at the number of records before them. The last one is followed by a page without records."""

    model_config = ConfigDict(title="Number of records before the page")
    type: Literal["offset"]
    parameter: ParameterName = Field(
        "offset", title="Offset parameter", description="The query parameter for the number of records to leave out."
    )


class Cursor(Spec):
    """Each response contains the cursor of the next page. The last one has none, or an empty one."""

    model_config = ConfigDict(title="Cursor in the response")
    type: Literal["cursor"]
    parameter: ParameterName = Field(
        title="Cursor parameter", description="The query parameter for the cursor.", examples=["cursor"]
    )
    path: JsonPath = Field(
        title="Path of the cursor",
        description="Where a response contains the cursor of the next page.",
        examples=["$.meta.next_cursor", "$.data[-1].id"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_json_path(self.path, at / "path")


class NextUrl(Spec):
    """Each response contains the URL of the next page. The last one has none."""

    model_config = ConfigDict(title="URL in the response")
    type: Literal["next_url"]
    path: JsonPath = Field(
        title="Path of the URL",
        description="Where a response contains the URL of the next page.",
        examples=["$.next"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_json_path(self.path, at / "path")


class LinkHeader(Spec):
    """Each response names the next page in its Link header. The last one names none."""

    model_config = ConfigDict(title="Link header")
    type: Literal["link_header"]


Pages = Annotated[PageNumber | Offset | Cursor | NextUrl | LinkHeader, ByTag("type")]


class Incremental(Spec):
    """Asks only for records that are new or changed since the last load."""

    parameter: ParameterName = Field(
        title="Since parameter",
        description="The query parameter for the lowest value that is wanted.",
        examples=["updated_since"],
    )
    field: Annotated[str, Field(min_length=1, max_length=1000)] = Field(
        title="Field",
        description="The field of the records that is compared with it: a time, a date or a number that grows with "
        "each change.",
        examples=["updated_at"],
    )
    start: ParameterValue | None = Field(
        None,
        title="Start",
        description="The value for the first load. Without one, the first load asks for all records.",
        examples=["2024-01-01T00:00:00Z"],
    )
    until: ParameterName | None = Field(
        None,
        title="Until parameter",
        description="The query parameter for a value that all records must be below. With it, a backfill can divide "
        "the history into chunks.",
        examples=["updated_before"],
        json_schema_extra={"advanced": True},
    )
    overlap: Annotated[str | int | float, JsonScalar(("number", "string"))] | None = Field(
        None,
        title="Overlap",
        description="How far to go back behind the highest loaded value, so that late records are not lost: a duration "
        "such as 15m, or a number. By default one minute, or 1.",
        examples=["15m"],
        json_schema_extra={"advanced": True},
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.overlap is None:
            return
        try:
            overlap = parse_lag(self.overlap)
        except ValueError as error:
            yield diagnose("http_api.overlap", at / "overlap", f"{error}.")
            return
        if isinstance(overlap, Decimal) and overlap < 0:
            yield diagnose("http_api.overlap", at / "overlap", "The overlap is negative.")
        if isinstance(overlap, timedelta) and overlap > LONGEST_LAG:
            yield diagnose("http_api.overlap", at / "overlap", "The overlap is longer than 100 years.")


class HttpApiConfig(SourceConfig):
    """Records of a web service."""

    model_config = ConfigDict(title="Records of a web service")

    url: Url = Field(
        title="URL",
        description="The address that returns the records, without parameters.",
        examples=["https://api.example.com/v1/orders"],
    )
    parameters: Annotated[dict[ParameterName, ParameterValue], Field(min_length=1, max_length=50)] | None = Field(
        None,
        title="Parameters",
        description="Query parameters of each request, such as the number of records of a page.",
        examples=[{"limit": "200"}],
        json_schema_extra={"keyTitle": "Name"},
    )
    records: JsonPath = Field(
        "$",
        title="Records",
        description="Where a response contains the list of records.",
        examples=["$.data", "$.result.items"],
    )
    pages: Pages | None = Field(
        None,
        title="Pages",
        description="How to ask for the next page of records. Without it, one response has all records.",
        json_schema_extra={
            "labels": {
                "page": "by the number of the page",
                "offset": "by the number of records before it",
                "cursor": "by a cursor in the response",
                "next_url": "by a URL in the response",
                "link_header": "by the Link header",
            }
        },
    )
    total: JsonPath | None = Field(
        None,
        title="Number of records",
        description="Where a response contains the number of records of all pages. If another number arrives, the run "
        "fails.",
        examples=["$.meta.total"],
        json_schema_extra={"advanced": True},
    )
    incremental: Incremental | None = Field(
        None,
        title="Incremental",
        description="Ask only for records that are new or changed. Load them with upsert, because some arrive again.",
    )
    requests_per_minute: Annotated[int, Field(ge=1, le=6000)] | None = Field(
        None,
        title="Requests per minute",
        description="The highest number of requests per minute. Without it, a request follows the previous one.",
        json_schema_extra={"advanced": True},
    )

    @property
    def location(self) -> str:
        return self.url

    @property
    def repeats_rows(self) -> bool:
        return self.incremental is not None

    def backfill_hint(self, declared: BackfillHint | None) -> BackfillHint | None:
        return _DIVIDED if self.incremental is not None and self.incremental.until is not None else declared

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if not is_plain(self.url) or "?" in self.url:
            message = "The URL must be http or https with a host, without user, query and fragment."
            yield diagnose("http_api.address", at / "url", message)
        yield from check_json_path(self.records, at / "records")
        if self.total is not None:
            yield from check_json_path(self.total, at / "total")
        yield from self._check_parameters(at)

    def _check_parameters(self, at: Pointer) -> Iterator[Diagnostic]:
        given = self.parameters or {}
        for name in given:
            if looks_secret(name):
                message = f"The parameter {shown(name)} seems to be a secret, which a document must not contain."
                yield diagnose("http_api.secret_parameter", at / "parameters" / name, message)
        seen = set(given)
        for part, name in (("pages", "parameter"), ("incremental", "parameter"), ("incremental", "until")):
            own: str | None = getattr(getattr(self, part), name, None)
            if own in seen:
                place = at / part / name
                yield diagnose("http_api.parameter_repeated", place, f"The parameter {shown(str(own))} is set twice.")
            if own is not None:
                seen.add(own)


_DIVIDED = BackfillHint("monotonic", natural_window="30d")
"""For services that select records between two values."""

CONNECTOR = Connector(
    "http_api",
    "Web service (REST API)",
    "Records as JSON, page by page.",
    HttpApiConfig,
    reads="snapshot",
    reading_step="Request pages",
    connection_kind="http",
    connection_for="an address at which Flow must sign in",
    starts_with={"url": "", "records": "$"},
    backfill=BackfillHint("opaque-token"),
)
