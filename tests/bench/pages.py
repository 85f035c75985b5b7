"""Server time of every page and of every GET of the API, for the workspace of `pages_world`.

    python -m tests.bench.pages [--times N] [--only REGEX]

The pages are those of the URL patterns, so new pages are included. `VALUES` are the parameters of URLs, `QUERIES` are
further filters, sort orders and searches, `SKIPPED` are not measured.

Wall time includes other work of the machine. CPU is the time of this process, DB the CPU time of its session in the
control database (0 if the server is on another machine). Sessions in target databases are included in the wall time
only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import re
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from executors.model import Connection
from executors.postgres.client import connect
from flowapp.cli.control import control_plane
from flowapp.embedded.services import Services
from flowapp.embedded.warehouses import ensure_warehouse
from flowapp.web.garbage import collect_rarely
from tests.bench import ENCRYPTION_KEY
from tests.bench.pages_world import EMAIL, SLUG, document, make_world, run_id

if TYPE_CHECKING:
    from django.test import Client

    from flowapp.accounts.models import Workspace
    from flowapp.manifests.models import Proposal

AIM_MS = 100
WARM = 3
LONGEST_SECONDS = 3
"""A slower page is requested only once."""
SKIPPED = {
    "accounts:link": "signs in, once per link",
    "quarantine:export": "streams rows for as long as there are any",
    "api:export_errors": "streams rows for as long as there are any",
    "files:download_unit": "streams a file",
    "files:download_upload": "streams a file",
    "node_previews:look": "shows what a worker has computed",
    "api:node_preview": "shows what a worker has computed",
}
"""URLs that are not measured, with the reason."""
Query = dict[str, str]


@dataclass
class Page:
    """A URL and the times of its requests, in ms."""

    name: str
    address: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    database: list[float] = field(default_factory=list)
    queries: int = 0
    status: int = 0

    @property
    def p95(self) -> float:
        return sorted(self.wall)[int(len(self.wall) * 0.95)]

    @property
    def line(self) -> str:
        mark = f"  > {AIM_MS} ms" if self.p95 > AIM_MS else ""
        numbers = (
            statistics.median(self.wall),
            self.p95,
            statistics.median(self.cpu),
            statistics.median(self.database),
        )
        return f"{self.name:<64} {self.queries:4}" + "".join(f"{n:8.1f}" for n in numbers) + mark


def values(workspace: Workspace) -> dict[str, str]:
    """The values of URL parameters."""
    from flowapp.alerts.models import Alert
    from flowapp.backups.models import Backup
    from flowapp.channels.models import Delivery
    from flowapp.lists.models import SavedFilter
    from flowapp.pipelines.selectors import get_pipeline
    from flowapp.quarantine.choosing import choose_alike
    from flowapp.quarantine.selectors import EntryFilter
    from flowapp.runs.holds import Decider
    from flowapp.runs.load_units.models import LoadUnit
    from flowapp.schema_changes.models import ColumnChange
    from flowapp.uploads.models import Upload

    found = {
        "workspace": SLUG,
        "slug": "p-0001",
        "run": run_id(),
        "node": "check",
        "hook": "none",
        "unit": LoadUnit.objects.order_by("-changed_at").values_list("pk", flat=True).first(),
        "upload": Upload.objects.values_list("pk", flat=True).first(),
        "change": ColumnChange.objects.values_list("pk", flat=True).first(),
        "backup": Backup.objects.values_list("pk", flat=True).first(),
        "alert": Alert.objects.values_list("pk", flat=True).first(),
        "selection": choose_alike(
            workspace, EntryFilter(pipeline=get_pipeline(workspace, "p-0001")), Decider(EMAIL)
        ).pk,
        "saved_filter": SavedFilter.objects.values_list("pk", flat=True).first(),
        "name": "warehouse",
        "channel": "ops",
        "channel_kind": "webhook",
        "store_kind": "s3",
        "key": Delivery.objects.values_list("key", flat=True).first(),
        "member": 1,
        "token": run_id(),
        "preview": run_id(),
        "trigger": run_id(),
        "proposal": propose_change(workspace).pk,
        "sha256": "f" * 64,
    }
    return {name: str(value) for name, value in found.items()}


def propose_change(workspace: Workspace) -> Proposal:
    """A project that contains and changes one pipeline."""
    from flowapp.manifests.planning import make_plan, parse_project
    from flowapp.manifests.proposals import propose
    from flowapp.manifests.uploads import server_environment

    changed = {**document("p-0001"), "schedule": {"kind": "every", "interval": "15m"}}
    files = {"flow.toml": b'[project]\nname = "bench"', "pipelines/p-0001.json": json.dumps(changed).encode()}
    planned = make_plan(workspace, parse_project(workspace, files), server_environment())
    return propose(planned, "folder", None)


def overridden(row: tuple[str, str]) -> dict[str, dict[str, str]]:
    """Values of parameters that differ for one URL pattern."""
    return {
        "docs": {"name": "rules"},
        "runs:table": {"node": "load"},
        "watermarks:detail": {"node": "load"},
        "quarantine:row": {"run": row[0], "row_id": row[1]},
        "quarantine:work_on": {"run": row[0], "row_id": row[1]},
        "api:error": {"row_key": f"{row[0]}:{row[1]}"},
        "api:watermark": {"node": "load"},
        "api:watermark_check": {"node": "load"},
    }


def queries() -> dict[str, list[Query]]:
    """Filters, sort orders and searches, by name of the page."""
    from flowapp.editor.listing import COLUMNS as PIPELINES
    from flowapp.quarantine.counts import GROUPS
    from flowapp.quarantine.views import DAYS
    from flowapp.runs.load_units.selectors import COLUMNS as FILES
    from flowapp.runs.selectors import COLUMNS

    one: Query = {"pipeline": "p-0500"}
    day = f"{time.strftime('%Y-%m-%d', time.gmtime(time.time() - 3 * 86400))}"
    run = {"run": str(run_id())}
    row_filters: list[Query] = [
        one,
        run,
        {"rule": "amount-set"},
        {"status": "ignored"},
        {"day": day},
        {**one, "day": day},
        {**one, "rule": "note-short"},
        {**one, "field": "amount"},
        {**one, "status": "ignored"},
        {**one, "status": "fixed"},
        {**one, "search": "DE"},
        {**one, "search": "nowhere at all"},
    ]
    sorted_rows: list[Query] = [
        {**filters, "sort": f"{sign}{column}"}
        for filters, columns in (({"status": "open"}, "pipeline rule rejected"), (one, "rule rejected"))
        for column in columns.split()
        for sign in ("", "-")
    ]
    return {
        "pipelines:list": [
            *sortings(PIPELINES),
            {"search": "shop 77"},
            {"search": "nowhere"},
            {"tag": "tag-7"},
            {"mode": "append"},
            {"state": "failed"},
            {"state": "failed", "sort": "rejected"},
            {"enabled": "no"},
        ],
        "pipelines:edit": [{"tab": tab} for tab in ("json", "history", "runs", "errors", "schedule")],
        "runs:list": [
            *sortings(COLUMNS),
            *({**one, "sort": column.name} for column in COLUMNS),
            *({"state": state, "sort": column.name} for state in ("failed", "held") for column in COLUMNS),
            {**one, "state": "failed"},
            {**one, "state": "held"},
            {"trigger": "manual"},
            {"trigger": "api"},
            {"since": f"{day}T00:00", "until": f"{day}T12:00"},
            {"since": f"{day}T00:00", "until": f"{day}T12:00", "sort": "rejected"},
        ],
        "runs:log": [{"sort": "-time"}],
        "files:list": [
            *sortings(FILES),
            *({**one, "sort": column.name} for column in FILES),
            *({"state": state, "sort": column.name} for state in ("failed", "processing") for column in FILES),
            run,
        ],
        "quarantine:home": [*({"days": str(days)} for days in DAYS), {**one, "days": "90"}],
        "quarantine:rows": [*row_filters, {"status": "fixed"}, {"field": "amount"}, *sorted_rows],
        "api:errors": row_filters,
        "api:error_counts": [{"by": by, "days": "90"} for by in GROUPS],
        "health:home": [one, {"state": "resolved"}, {"severity": "warning"}, {"kind": "run.failed"}],
        "backups:list": [one, run],
        "home:search": [{"q": "shop 77"}, {"q": "nowhere"}, {"q": "row 77"}],
        "api:runs": [one, {"state": "failed"}],
        "api:files": [one, {"state": "failed"}],
        "starting:files": [{"path": "in"}],
        "api:alerts": [{"state": "resolved"}],
    }


def sortings(columns: Any) -> list[Query]:
    return [{"sort": f"{sign}{column.name}"} for column in columns for sign in ("", "-")]


def patterns() -> Iterator[tuple[str, set[str]]]:
    """Return the full name of every URL pattern, with the names of its parameters."""
    from django.urls import URLPattern, get_resolver

    def walk(resolver: Any, space: str, outer: str) -> Iterator[tuple[str, set[str]]]:
        for found in resolver.url_patterns:
            route = f"{outer}{found.pattern}"
            if isinstance(found, URLPattern):
                yield f"{space}{found.name}", set(re.findall(r"<(?:\w+:)?(\w+)>", route))
            else:
                yield from walk(found, f"{space}{found.namespace}:" if found.namespace else space, route)

    return walk(get_resolver(), "", "")


def list_pages(workspace: Workspace) -> list[Page]:
    """Return the URLs to request. Raises KeyError for a parameter without a value."""
    from django.urls import reverse

    from flowapp.quarantine.selectors import page_entries
    from flowapp.runs.models import Run

    entry = page_entries(workspace, run=Run.objects.get(pk=run_id()), limit=1).entries[0]
    known, special, more = values(workspace), overridden((entry["runId"], entry["rowId"])), queries()
    pages = []
    for name, parameters in patterns():
        if name in SKIPPED:
            continue
        given = {**known, **special.get(name, {})}
        address = reverse(name, kwargs={parameter: given[parameter] for parameter in parameters})
        pages.append(Page(name, address))
        pages += [Page(f"{name} ?{urlencode(query)}", f"{address}?{urlencode(query)}") for query in more.get(name, [])]
    return pages


class Asker:
    """Sends requests as an editor, or as an admin if an editor has no access."""

    def __init__(self, workspace: Workspace) -> None:
        self._clients = [_client(workspace, role) for role in ("editor", "admin")]

    def ask(self, page: Page, times: int) -> str:
        """Measure the times of a page, and return its text."""
        answer: Any = None
        for client in self._clients:
            answer = client.get(page.address)
            if answer.status_code != HTTPStatus.FORBIDDEN:
                break
        page.status = answer.status_code
        if page.status != HTTPStatus.OK:
            return ""
        for number in range(WARM + times):
            with _count_queries() as queries:
                start, cpu, database = time.perf_counter(), time.process_time(), _database_ms()
                content = b"".join(client.get(page.address))
                wall, cpu, database = time.perf_counter() - start, time.process_time() - cpu, _database_ms() - database
            if number >= WARM or wall > LONGEST_SECONDS:
                page.wall.append(wall * 1000)
                page.cpu.append(cpu * 1000)
                page.database.append(database)
                page.queries = len(queries)
            if wall > LONGEST_SECONDS:
                break
        return content.decode()


def _client(workspace: Workspace, role: str) -> Client:
    """Return a client with a session for pages and a token for the API."""
    from django.test import Client

    from flowapp.accounts.models import Membership, Token, User
    from flowapp.accounts.services import add_token

    user, _ = User.objects.get_or_create(email=f"{role}@example.org")
    Membership.objects.update_or_create(workspace=workspace, user=user, defaults={"role": role})
    Token.objects.filter(workspace=workspace, name=role).delete()
    key, _ = add_token(workspace, role, role, days=1)
    client = Client(
        raise_request_exception=False,
        headers={"host": "localhost", "authorization": f"Bearer {key}", "x-flow-workspace": SLUG},
    )
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@contextmanager
def _count_queries() -> Iterator[list[str]]:
    """Count the queries of the control database."""
    from django.db import connection

    seen: list[str] = []

    def noted(execute: Any, query: str, *arguments: Any) -> Any:
        seen.append(query)
        return execute(query, *arguments)

    with connection.execute_wrapper(noted):
        yield seen


def _database_ms() -> float:
    from django.db import connection

    connection.ensure_connection()
    schedule = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    return int(schedule.read_text().split()[0]) / 1e6 if schedule.exists() else 0


def measure(workspace: Workspace, times: int, only: str) -> None:
    """Print the time of each page, and what was not measured."""
    logging.disable(logging.WARNING)
    collect_rarely()  # as the web process does
    asker, slow, silent = Asker(workspace), 0, list[str]()
    print(f"{'page':<64} {'SQL':>4}{'p50':>8}{'p95':>8}{'CPU':>8}{'DB':>8}  ms, {times} times each", flush=True)
    pending = [page for page in list_pages(workspace) if re.search(only, page.name)]
    while pending:
        page = pending.pop(0)
        text = asker.ask(page, times)
        if page.status != HTTPStatus.OK:
            silent.append(f"{page.name}: {page.status}")
            continue
        print(page.line, flush=True)
        slow += page.p95 > AIM_MS
        following = re.search(r"[?&](?:amp;)?cursor=([\w-]+)", text)
        if following and "cursor" not in page.address and not page.name.startswith("api:"):
            joint = "&" if "?" in page.address else "?"
            pending.insert(0, Page(f"{page.name} next", f"{page.address}{joint}cursor={following[1]}"))
    print(f"{slow} pages above {AIM_MS} ms")
    print("not skipped, without an answer to show (405: takes no GET): " + ", ".join(silent))
    print("skipped: " + ", ".join(f"{name} ({why})" for name, why in SKIPPED.items()))


def run(services: Services, warehouse: Connection, times: int = 30, only: str = "") -> None:
    """Measure with a control database that is filled once per schema and reused."""
    own = Connection("control", **ensure_warehouse(services.addresses, "bench-pages"))
    before = os.environ.get("FLOW_DATABASE_URL")
    os.environ["FLOW_DATABASE_URL"] = f"postgresql://{own.user}:{own.password}@{own.host}:{own.port}/{own.database}"
    try:
        if not _is_filled(own):
            with connect(own, autocommit=True) as conn:
                conn.execute("DROP SCHEMA public CASCADE")
                conn.execute("CREATE SCHEMA public")
        with control_plane(with_broker=True, migrate=True):
            if not _is_filled(own):
                make_world(warehouse)
                with connect(own, autocommit=True) as conn:
                    conn.execute("CREATE TABLE public.bench_filled AS SELECT %s::text AS of", [_fingerprint()])
            from flowapp.accounts.models import Workspace

            measure(Workspace.objects.get(slug=SLUG), times, only)
    finally:
        os.environ.pop("FLOW_DATABASE_URL")
        if before is not None:
            os.environ["FLOW_DATABASE_URL"] = before


def _is_filled(own: Connection) -> bool:
    with connect(own, autocommit=True) as conn:
        if conn.execute("SELECT to_regclass('public.bench_filled')").fetchone() == (None,):
            return False
        return conn.execute("SELECT of FROM public.bench_filled").fetchone() == (_fingerprint(),)


def _fingerprint() -> str:
    """Return a hash of all that the content of the database depends on: migrations, quarantine tables and
    `pages_world`."""
    here = Path(__file__).parent
    root = here.parents[1]
    quarantine = [root / "executors/postgres" / name for name in ("quarantine_indexes.py", "quarantine_table.py")]
    made_by = [here / "pages_world.py", *quarantine, *sorted(root.glob("flowapp/*/migrations/*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in made_by)).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--only", default="", help="a regular expression that names of pages match")
    options = parser.parse_args()
    home = Path(os.environ.setdefault("FLOW_HOME", tempfile.gettempdir() + "/flow-bench"))
    os.environ.setdefault("FLOW_ENCRYPTION_KEYS", ENCRYPTION_KEY)
    with Services.start(home, ["postgres"]) as services:
        warehouse = Connection("warehouse", **ensure_warehouse(services.addresses, "bench"))
        run(services, warehouse, options.times, options.only)


if __name__ == "__main__":
    main()
