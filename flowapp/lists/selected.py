"""Actions on the rows selected in a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from django.contrib import messages
from django.urls import reverse

from flowapp.lists.services import LONGEST_QUERY, filter_query
from flowapp.web.htmx import HtmxRequest
from ir.errors import FlowError
from ir.words import counted

Row = TypeVar("Row")
MOST_SELECTED = 50
"""The maximum number of rows of one action, which is the length of a page."""
MOST_PROBLEMS = 5


def selected_names(given: list[str], noun: str) -> list[str]:
    """Return the values of the selected checkboxes. Raises FlowError `selection.invalid`."""
    if not 1 <= len(given) <= MOST_SELECTED:
        raise FlowError(
            "selection.invalid",
            f"Select 1 to {MOST_SELECTED} {noun}s; {len(given):,} are selected.",
            hint=f"Go back to the list and select {noun}s.",
        )
    return given


def require_here(request: HtmxRequest, wanted: int, found: int, noun: str, code: str) -> None:
    """Report selected rows that do not exist in this workspace. Raises FlowError if none exists."""
    if not found:
        raise FlowError(code, f"The selected {noun}s are not here.", hint="Reload the list.")
    if missing := wanted - found:
        messages.error(request, f"{counted(missing, f'selected {noun}')} {'is' if missing == 1 else 'are'} not here.")


def apply_to_each(
    request: HtmxRequest, rows: Iterable[tuple[str, Row]], action: Callable[[Row], object], noun: str, done: str
) -> None:
    """Apply an action to each row, given with its name, and report the results. A refusal for one row does not affect
    the others."""
    succeeded, problems = 0, list[str]()
    for name, row in rows:
        try:
            action(row)
            succeeded += 1
        except FlowError as error:
            problems.append(f"{name}: {error.message} {error.hint}")
    if succeeded:
        messages.success(request, f"{counted(succeeded, noun)} {done}.")
    for problem in problems[:MOST_PROBLEMS]:
        messages.error(request, problem)
    if len(problems) > MOST_PROBLEMS:
        messages.error(request, f"{counted(len(problems) - MOST_PROBLEMS, f'more {noun}')} refused.")


def list_before(request: HtmxRequest, name: str) -> str:
    """Return the URL of the list with the filter under which the rows were selected."""
    address = reverse(name, args=[request.workspace.slug])
    query = filter_query(request.POST.get("query", "")[:LONGEST_QUERY])
    return f"{address}?{query}" if query else address
