"""The texts for the results of rejected rows."""

from __future__ import annotations

from django import template

register = template.Library()
WORDS = {
    "loaded": "loaded",
    "fails": "rejected again by a rule",
    "exists": "not loaded: the table has this key with other values",
    "older": "not loaded: the table has a newer row with this key",
    "read_again": "not loaded: a later run has read them again and not rejected them",
    "superseded": "not loaded: superseded by a later run",
    "filtered": "filtered out",
    "already": "not loaded: already replayed",
    "ignored": "not loaded: ignored",
    "was_loaded": "not loaded: their own run loaded them with a warning",
    "not_loaded": "not loaded: their run loaded nothing; its next successful run reads them",
    "replaced": "not loaded: a later load replaced theirs",
    "changed": "not loaded: changed in the meantime",
    "repeated": "not loaded: rejected by several runs, and loaded once",
    "gone": "not loaded: deleted",
    "fixed": "fixed; the original values are not changed",
    "typed": "unchanged: edited manually",
    "unchanged": "unchanged: the expression returns the same value",
    "not_replayable": "not loaded: cannot be replayed",
}
_WOULD = {"loaded": "would be loaded", "fails": "still fails a rule"}
"""The words for results that have not happened yet."""


@register.filter
def became(result: str, changes_nothing: bool) -> str:
    """Return the words for a result; for a run that `changes_nothing`, what a replay would do."""
    return (_WOULD.get(result) if changes_nothing else None) or WORDS.get(result, WORDS["not_replayable"])
