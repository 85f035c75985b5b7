"""The texts for the results of rejected rows."""

from __future__ import annotations

from django import template

from flowapp.runs.row_results import ROW_RESULTS

register = template.Library()
_WOULD = {"loaded": "would be loaded", "fails": "still fails a rule"}
"""The words for results that have not happened yet."""


@register.filter
def became(result: str, changes_nothing: bool) -> str:
    """Return the words for a result; for a run that `changes_nothing`, what a replay would do."""
    if changes_nothing and result in _WOULD:
        return _WOULD[result]
    return ROW_RESULTS.get(result, ROW_RESULTS["not_replayable"]).listed
