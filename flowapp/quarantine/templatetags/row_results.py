"""What became of rejected rows, in the words of the page of their run."""

from __future__ import annotations

from django import template

register = template.Library()
WORDS = {
    "loaded": "loaded",
    "fails": "rejected again by a rule",
    "exists": "kept back: the table holds the key with other values",
    "older": "kept back: the table holds the key with something newer",
    "read_again": "kept back: a later run has read them again and not rejected them, so they are loaded, or the source "
    "holds others now",
    "superseded": "left out: a later run stands for them",
    "filtered": "filtered out",
    "already": "left out: replayed before",
    "ignored": "left out: ignored",
    "was_loaded": "left out: loaded by its own run, in spite of the rule",
    "not_loaded": "left out: of a run that loaded nothing: its next good run takes them",
    "replaced": "left out: of a load that a later one has replaced",
    "changed": "left out: changed meanwhile",
    "repeated": "left out: rejected by several runs, and loaded once",
    "gone": "left out: gone",
    "mended": "fixed; the originals stay",
    "typed": "kept as somebody typed it by hand",
    "unchanged": "unchanged: the expression gives the value that was there",
    "unfit": "left out: not to be replayed",
}
_WOULD = {"loaded": "would be loaded", "fails": "still failing a rule"}
"""Where nothing has happened yet."""


@register.filter
def became(result: str, only_tells: bool) -> str:
    """The words of a result, or, of a run that `only_tells`, of what a replay would do."""
    return (_WOULD.get(result) if only_tells else None) or WORDS.get(result, WORDS["unfit"])
