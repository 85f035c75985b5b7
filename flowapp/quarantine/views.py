"""The pages of rejected rows: counts first, then rows, then one row in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from executors.errors import Failure
from executors.target_database import STATUSES, WITHOUT_VALUES, Entry
from flowapp.accounts.access import page
from flowapp.accounts.roles import may_see_values
from flowapp.pipelines.selectors import get_pipeline
from flowapp.quarantine.audit_log import NOT_LOADED
from flowapp.quarantine.counts import GROUPS, MOST_GROUPS, count_violations, present_trend
from flowapp.quarantine.filter_options import fields_of, known_rules, names_of_rules, other_fields
from flowapp.quarantine.forms import filters_of
from flowapp.quarantine.selectors import EntryFilter, list_entries_of_row, page_filtered
from flowapp.quarantine.sorting import columns_of, order_of, sorting_of
from flowapp.quarantine.source_fields import SourceFields, with_origins
from flowapp.quarantine.values import cells_of, group_of
from flowapp.runs.load_units.selectors import line_of
from flowapp.runs.models import Run
from flowapp.runs.rule_names import names_of, rule_name
from flowapp.runs.run_kinds import run_kind_of
from flowapp.runs.selectors import get_run
from flowapp.web.errors import status_of
from flowapp.web.htmx import HtmxRequest, render_page

REJECTED = sorted(NOT_LOADED - {"filtered"})
"""The results that a replay counts as rejected."""

DAYS = (1, 7, 30, 90)
USUAL_DAYS = 30


@require_GET
@page()
def home(request: HtmxRequest) -> HttpResponse:
    """Show the counts from the control database, without queries to target databases."""
    days = _days(request.GET.get("days", ""))
    slug = request.GET.get("pipeline", "")
    pipeline = get_pipeline(request.workspace, slug) if slug else None
    counts = {by: count_violations(request.workspace, by, days=days, pipeline=pipeline) for by in GROUPS}
    trend = present_trend(counts["day"], days)
    context = {
        "counts": counts,
        "trend": trend,
        "worst": max(trend, key=lambda day: day.violations),
        "days": days,
        "days_choices": DAYS,
        "most_groups": MOST_GROUPS,
        "pipeline": pipeline,
        "rule_names": {row["rule"]: rule_name(row["rule"], row["type"], row["field"]) for row in counts["rule"]},
    }
    return render_page(request, "quarantine/home.html", context)


def _days(text: str) -> int:
    return int(text) if text in map(str, DAYS) else USUAL_DAYS


@never_cache
@require_GET
@page()
def rows(request: HtmxRequest) -> HttpResponse:
    """List the rejected rows of a pipeline or a run, filtered by rule, field and more."""
    if "filter" in request.GET:
        return _filtered(request)
    filters = filters_of(request, request.GET)
    if filters == EntryFilter():
        return redirect("quarantine:home", request.workspace.slug)
    if filters.run is not None and run_kind_of(filters.run).rows(filters.run):
        return _rows_it_had(request, filters.run)
    rules = known_rules(request.workspace, filters)
    names = {known.rule: known.name for known in rules}
    context: dict[str, Any] = {
        "filters": filters,
        "pipeline": filters.pipeline,
        "run": filters.run,
        "statuses": STATUSES,
        "rules": names_of_rules(rules),
        "rule_names": names,
        "fields": fields_of(rules),
        "other_fields": other_fields(rules, filters),
        "sees_values": may_see_values(request.role),
        "narrowed": {name: value for name, value in request.GET.items() if name != "cursor"},
        "one_pipeline": filters.of_pipeline,
        "sorting": (sorting := sorting_of(request.GET.get("sort", ""), filters)),
        "sortable": columns_of(filters),
    }
    if context["other_fields"]:
        return render_page(request, "quarantine/rows.html", context)
    try:
        context["found"] = found = page_filtered(
            request.workspace,
            filters,
            order=order_of(sorting),
            cursor=request.GET.get("cursor", ""),
            columns=WITHOUT_VALUES,
            previews=context["sees_values"],
        )
    except Failure as error:
        return render_page(request, "quarantine/rows.html", {**context, "error": error}, status=status_of(error))
    names = {**names, **_names(request, found.entries)}
    context |= {"rule_names": names, "rows": len({entry["key"] for entry in found.entries})}
    context["entries"] = with_origins(request.workspace, found.entries) if context["sees_values"] else found.entries
    return render_page(request, "quarantine/rows.html", context)


def _filtered(request: HtmxRequest) -> HttpResponse:
    """Redirect to the URL of the submitted filter form. An empty field of the form does not filter, whereas an empty
    `field` in a link means fields with an empty name."""
    chosen = {name: value for name, value in request.GET.items() if value and name not in ("filter", "cursor")}
    return redirect(f"{reverse('quarantine:rows', args=[request.workspace.slug])}?{urlencode(chosen)}")


def _names(request: HtmxRequest, entries: Sequence[Entry]) -> dict[str, str]:
    """Return the display names of the rules in these entries, including those that rows failed in a replay."""
    rules = {rule for entry in entries for rule in (entry["ruleId"], *(entry["replayRules"] or ()))}
    runs = {run for entry in entries for run in (entry["runId"], entry["replayRun"]) if run}
    return names_of(request.workspace, runs, rules)


def _rows_it_had(request: HtmxRequest, run: Run) -> HttpResponse:
    """Redirect from a run over rejected rows, which stores no rows of its own: to its results if it is a replay, else
    to the rows of its pipeline."""
    words = run_kind_of(run).over_rows
    if words and words.loads:
        rejected = [result for result in REJECTED if run.stored_report.row_results.get(result)]
        only = f"?result={rejected[0]}" if len(rejected) == 1 else ""
        return redirect(f"{reverse('runs:detail', args=[request.workspace.slug, run.pk])}{only}#one-by-one")
    filters = urlencode({"pipeline": run.pipeline.slug})
    return redirect(f"{reverse('quarantine:rows', args=[request.workspace.slug])}?{filters}")


@never_cache
@require_GET
@page()
def row(request: HtmxRequest, run: UUID, row_id: str) -> HttpResponse:
    """Show one row with all rules that it violated in that run."""
    found = get_run(request.workspace, run)
    context: dict[str, Any] = {"run": found, "row_id": row_id, "sees_values": may_see_values(request.role)}
    try:
        entries = list_entries_of_row(request.workspace, found, row_id)
    except Failure as error:
        return render_page(request, "quarantine/row.html", {**context, "error": error}, status=status_of(error))
    if not entries:
        raise Http404("Unknown rejected row.")
    context |= {"rule_names": _names(request, entries)}
    first = entries[0]
    context |= {"line": line_of(found, first["sourceFile"], first["sourceRecord"])}
    context |= {"entries": entries, "first": first, "group": group_of(first)}
    if context["sees_values"]:
        about = SourceFields(request.workspace, entries)
        context["cells"] = cells_of(entries, frozenset().union(*map(about.failing, entries)))
    return render_page(request, "quarantine/row.html", context)
