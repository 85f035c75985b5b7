"""Describe the results of rejected rows for people."""

from __future__ import annotations

from typing import NamedTuple


class RowResult(NamedTuple):
    """The texts of a result: of one row and of several in a sentence, and in a list of results."""

    one: str
    several: str
    listed: str


ROW_RESULTS = {
    "loaded": RowResult("loaded", "loaded", "loaded"),
    "fails": RowResult("still fails a rule", "still fail a rule", "rejected again by a rule"),
    "exists": RowResult(
        "has a key that already exists in the table",
        "have a key that already exists in the table",
        "not loaded: the table has this key with other values",
    ),
    "older": RowResult(
        "is older than the table's row with the same key",
        "are older than the table's row with the same key",
        "not loaded: the table has a newer row with this key",
    ),
    "read_again": RowResult(
        "was read again by a later run and not rejected",
        "were read again by a later run and not rejected",
        "not loaded: a later run has read them again and not rejected them",
    ),
    "superseded": RowResult(
        "was superseded by a later run", "were superseded by a later run", "not loaded: superseded by a later run"
    ),
    "filtered": RowResult("is filtered out", "are filtered out", "filtered out"),
    "already": RowResult("was already replayed", "were already replayed", "not loaded: already replayed"),
    "ignored": RowResult("is ignored", "are ignored", "not loaded: ignored"),
    "was_loaded": RowResult(
        "was loaded by its own run with a warning",
        "were loaded by their own run with a warning",
        "not loaded: their own run loaded them with a warning",
    ),
    "not_loaded": RowResult(
        "belongs to a run that loaded nothing",
        "belong to a run that loaded nothing",
        "not loaded: their run loaded nothing; its next successful run reads them",
    ),
    "replaced": RowResult(
        "belongs to a load that a later load replaced",
        "belong to a load that a later load replaced",
        "not loaded: a later load replaced theirs",
    ),
    "gone": RowResult("was deleted", "were deleted", "not loaded: deleted"),
    "changed": RowResult("changed in the meantime", "changed in the meantime", "not loaded: changed in the meantime"),
    "repeated": RowResult(
        "was rejected by several runs, and is loaded once",
        "were rejected by several runs, and are loaded once",
        "not loaded: rejected by several runs, and loaded once",
    ),
    "not_replayable": RowResult("cannot be replayed", "cannot be replayed", "not loaded: cannot be replayed"),
    "fixed": RowResult("fixed", "fixed", "fixed; the original values are not changed"),
    "unchanged": RowResult(
        "already had the value of the expression",
        "already had the value of the expression",
        "unchanged: the expression returns the same value",
    ),
    "typed": RowResult(
        "was edited manually and is unchanged (use --replace-typed)",
        "were edited manually and are unchanged (use --replace-typed)",
        "unchanged: edited manually",
    ),
}
