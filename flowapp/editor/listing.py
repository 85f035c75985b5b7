"""The list of pipelines with the results of their newest runs. The number of queries does not depend on the number of
pipelines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict
from uuid import UUID

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce

from flowapp.accounts.models import User, Workspace
from flowapp.pipelines.models import Favourite, Pipeline
from flowapp.runs.models import ENDED, LOADS, UNSUCCESSFUL, NodeRun, Run, State
from flowapp.runs.run_kinds import spec_of
from flowapp.web.paging import PageOf, take_page
from flowapp.web.sorting import Column, Sorting, read_sorting
from ir.load_modes import LOAD_MODES
from ir.words import counted

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class _OfRuns(TypedDict):
        last_at: datetime
        since: datetime | None
        next_at: datetime
        place: int

    ListedPipeline = WithAnnotations[Pipeline, _OfRuns]

BARS = 20
EPOCH, NEVER = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
NOT_RUN = "never"
FAVOURITE, OTHER = 0, 1
NO_NUMBER = -1

COLUMNS = (
    Column("name", ("slug",)),
    Column("target", ("target", "slug")),
    Column("run", ("-last_at", "slug"), starts_high=True),
    Column("loaded", ("-last_loaded", "slug"), starts_high=True),
    Column("rejected", ("-last_rejected", "slug"), starts_high=True),
    Column("next", ("next_at", "slug")),
)
"""The columns that the list can be sorted by."""
ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the list. Invalid values are ignored. `enabled` is `yes`, `no` or `archived`."""

    search: str = ""
    tag: str = ""
    mode: str = ""
    state: str = ""
    enabled: str = ""
    sort: str = "name"

    @classmethod
    def read(cls, query: Any) -> Filters:
        given = {name: query.get(name, "").replace("\0", "").strip()[:200] for name in cls.__slots__}
        return cls(**given)

    @property
    def sorting(self) -> Sorting:
        return read_sorting(self.sort, COLUMNS)


@dataclass(slots=True)
class RunCount:
    state: str
    at: datetime
    loaded: int | None
    rejected: int | None
    pk: UUID
    loads: bool = True
    tag: str = ""


@dataclass(slots=True)
class PipelineRow:
    """A pipeline with its newest runs, newest first."""

    pipeline: Pipeline
    runs: list[RunCount] = field(default_factory=list)
    is_favourite: bool = False

    @property
    def tags(self) -> list[str]:
        return self.pipeline.tags.split("\n")[1:-1]

    @property
    def last(self) -> RunCount | None:
        return self.runs[0] if self.runs else None

    @property
    def last_load(self) -> RunCount | None:
        return next(iter(self._loads), None)

    @property
    def chart(self) -> Chart:
        return draw_chart([(run.loaded, run.state in UNSUCCESSFUL) for run in reversed(self._loads)])

    @property
    def _loads(self) -> list[RunCount]:
        """Return the runs that load the source, without restores and replays."""
        return [run for run in self.runs if run.loads]

    @property
    def chart_words(self) -> str:
        loaded = [run.loaded for run in self._loads if run.loaded is not None]
        if not loaded:
            return "No rows loaded"
        return f"Rows loaded by the last {counted(len(self._loads), 'run')}: at most {max(loaded):,}"


class Chart(NamedTuple):
    """A bar chart as two SVG paths: one of the failed runs, one of all others."""

    done: str
    failed: str


def draw_chart(counts: Sequence[tuple[int | None, bool]]) -> Chart:
    """Draw bars, at most 20 units high and 5 units apart, oldest on the left."""
    highest = max((count or 0 for count, _ in counts), default=0) or 1
    paths: dict[bool, list[str]] = {False: [], True: []}
    for i, (count, failed) in enumerate(counts, BARS - len(counts)):
        height = 20 if failed and not count else max(1, round(20 * (count or 0) / highest))
        paths[failed].append(f"M{5 * i} 20v-{height}h4v{height}z")
    return Chart("".join(paths[False]), "".join(paths[True]))


def list_rows(workspace: Workspace, filters: Filters, cursor: str, user: User, size: int = 50) -> PageOf[Any]:
    """Return a page of `PipelineRow`s, the user's favourites first."""
    order = ("place", *filters.sorting.order)
    page = take_page(_pipelines(workspace, filters, user), cursor, order, size)
    listed: Sequence[ListedPipeline] = page.rows
    runs = newest_runs({pipeline.pk: pipeline.since for pipeline in listed})
    rows = [PipelineRow(pipeline, runs[pipeline.pk], pipeline.place == FAVOURITE) for pipeline in listed]
    return PageOf(rows, page.previous, page.next)


def is_favourite(pipeline: Pipeline, user: User) -> bool:
    return Favourite.objects.filter(pipeline=pipeline, user=user).exists()


def _pipelines(workspace: Workspace, filters: Filters, user: User) -> QuerySet[ListedPipeline]:
    newest = Run.counted.filter(pipeline=OuterRef("pk")).order_by("-queued_at", "id")
    newest_loads = newest.filter(kind__in=LOADS)
    favourites = Favourite.objects.filter(pipeline=OuterRef("pk"), user=user)
    rows = Pipeline.objects.filter(workspace=workspace, archived_at__isnull=filters.enabled != ARCHIVED).annotate(
        place=Case(When(Exists(favourites), then=FAVOURITE), default=OTHER),
        last_at=Coalesce(Subquery(newest.values("queued_at")[:1]), Value(EPOCH)),
        last_loaded=Coalesce(Subquery(newest_loads.values("rows_loaded")[:1]), NO_NUMBER),
        last_rejected=Coalesce(Subquery(newest_loads.values("rows_rejected")[:1]), NO_NUMBER),
        since=Subquery(newest.values("queued_at")[BARS - 1 : BARS]),
        next_at=Coalesce(F("next_fire_at"), Value(NEVER)),
    )
    if filters.search:
        rows = rows.filter(
            Q(slug__icontains=filters.search)
            | Q(name__icontains=filters.search)
            | Q(source__icontains=filters.search)
            | Q(target__icontains=filters.search)
        )
    if filters.tag:
        rows = rows.filter(tags__contains=f"\n{filters.tag}\n")
    if filters.mode in LOAD_MODES:
        rows = rows.filter(load_mode__contains=filters.mode)
    if filters.enabled in ("yes", "no"):
        rows = rows.filter(enabled=filters.enabled == "yes")
    return _in_state(rows, newest, filters.state)


def _in_state(rows: QuerySet[ListedPipeline], newest: QuerySet[Run], state: str) -> QuerySet[ListedPipeline]:
    if state == NOT_RUN:
        return rows.filter(last_at=EPOCH)
    if state in State.values:
        return rows.annotate(last_state=Subquery(newest.values("state")[:1])).filter(last_state=state)
    return rows


def newest_runs(pipelines: Mapping[UUID, datetime | None]) -> dict[UUID, list[RunCount]]:
    """Return each pipeline's last runs with their target counts, newest first, in two queries.

    `pipelines` maps keys to the time of the last displayed run, which limits the search, or to None.
    """
    found: dict[UUID, list[RunCount]] = defaultdict(list)
    filters = Q()
    for key, since in pipelines.items():
        one = Q(pipeline=key)
        filters |= one & Q(queued_at__gte=since) if since else one
    if not pipelines:
        return found
    columns = ("pipeline_id", "state", "queued_at", "pk", "kind", "rows_loaded", "rows_rejected")
    for key, state, at, pk, kind, loaded, rejected in (
        Run.counted.filter(filters).order_by("-queued_at", "id").values_list(*columns)
    ):
        if len(found[key]) < BARS:
            found[key].append(RunCount(state, at, loaded, rejected, pk, kind in LOADS, spec_of(kind).tag))
    _add_counts(run for runs in found.values() for run in runs if run.state not in ENDED)
    return found


def _add_counts(runs: Iterable[RunCount]) -> None:
    """Add the target counts of unfinished runs; finished runs store theirs. A join would make the database read the
    nodes of all runs."""
    by_key = {run.pk: run for run in runs}
    if not by_key:
        return
    targets = NodeRun.objects.filter(run__in=list(by_key), kind="target").values("run")
    sums = targets.annotate(loaded=Sum("rows_loaded"), rejected=Sum("rows_rejected"))
    for key, loaded, rejected in sums.values_list("run", "loaded", "rejected"):
        by_key[key].loaded, by_key[key].rejected = loaded, rejected


def list_tags(workspace: Workspace) -> list[str]:
    """Return all tags in use, sorted."""
    texts = Pipeline.objects.filter(workspace=workspace).exclude(tags="").values_list("tags", flat=True).distinct()
    return sorted({tag for text in texts for tag in text.split("\n") if tag})
