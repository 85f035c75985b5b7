"""Clauses of ALTER TABLE: what each means for the columns of a followed table."""

from __future__ import annotations

from collections.abc import Sequence

from executors.errors import Terminal
from executors.mysql_cdc.tokens import Token

_WITHOUT_DATA = frozenset(
    {"ALGORITHM", "LOCK", "COMMENT", "AUTO_INCREMENT", "ROW_FORMAT", "FORCE", "ENABLE", "DISABLE", "STATS_PERSISTENT",
     "STATS_AUTO_RECALC", "STATS_SAMPLE_PAGES", "AVG_ROW_LENGTH", "MAX_ROWS", "MIN_ROWS", "KEY_BLOCK_SIZE", "WAIT",
     "NOWAIT"}
)  # fmt: skip
_INDEXES = frozenset({"INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK"})
_ACTIONS = ("CASCADE", "NULL", "DEFAULT")
_FILLS = frozenset({"NOT", "DEFAULT", "AS", "GENERATED", "AUTO_INCREMENT", "SERIAL", "PRIMARY", "TIMESTAMP", "PERIOD"})


def changes_columns(table: str, clause: Sequence[Token]) -> bool:
    """Return whether a clause of ALTER TABLE adds or drops columns. Raises Terminal `cdc.source_changed`,
    `cdc.column_filled`, `cdc.columns_rewritten` and `cdc.changes_unlogged` for what cannot be followed."""
    words = [token.word for token in clause]
    first, second = (*words, "", "")[:2]
    if not words or first in _WITHOUT_DATA:
        return False
    if first in ("ADD", "DROP") and second in _INDEXES:
        _require_no_cascade(table, words)
        return False
    if first == "RENAME" and second in ("INDEX", "KEY"):
        return False
    if first == "ALTER":  # the default of a column, or an index
        return False
    if first in ("DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ENGINE"):
        return False
    if first in ("ADD", "REORGANIZE", "REBUILD", "OPTIMIZE", "ANALYZE", "CHECK", "REPAIR") and second == "PARTITION":
        return False
    if first == "ADD" and second not in ("PRIMARY", "SYSTEM", "PERIOD"):
        _require_empty(table, clause)
        return True
    if first == "DROP" and second not in ("PRIMARY", "PARTITION", "SYSTEM", "PERIOD"):
        return True
    if first == "RENAME" and second != "COLUMN":
        raise table_gone(table, clause)
    raise Terminal(
        "cdc.columns_rewritten",
        f"ALTER TABLE {table} with {first} {second} may have changed, removed or renamed values without a change in "
        "the log.",
        hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
    )


def dropped_column(clause: Sequence[Token]) -> str:
    """Return the column that a clause drops, in lower case."""
    at = 1 + (clause[1].word == "COLUMN")
    if [token.word for token in clause[at : at + 2]] == ["IF", "EXISTS"]:
        at += 2
    return clause[at].text.casefold()


def _require_empty(table: str, clause: Sequence[Token]) -> None:
    """Refuse a new column that may have values in rows that existed before it."""
    words = [token.word for token in clause]
    nulls = [i for i, word in enumerate(words) if word == "DEFAULT" and words[i + 1 : i + 2] == ["NULL"]]
    fills = [word for i, word in enumerate(words) if word in _FILLS and i not in nulls]
    if fills:
        raise Terminal(
            "cdc.column_filled",
            f"A new column of {table} may have values in rows that existed before it ({fills[0]} in ALTER TABLE), "
            "and the log does not contain them.",
            hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
        )


def _require_no_cascade(table: str, words: Sequence[str]) -> None:
    if "REFERENCES" in words and any(word in words for word in _ACTIONS):
        raise Terminal(
            "cdc.changes_unlogged",
            f"{table} has got a foreign key with an action such as CASCADE, whose changes the log does not contain.",
            hint="Drop the action of the foreign key, then load the table again, with a reason.",
        )


def table_gone(table: str, tokens: Sequence[Token]) -> Terminal:
    """Return the failure for a statement after which the table is another one."""
    what = " ".join(token.text for token in tokens[:3])
    return Terminal(
        "cdc.source_changed",
        f"A statement of the log ({what} …) drops, replaces or renames {table}, or Flow cannot read what it does to "
        "it. Nothing was changed.",
        hint="Check the table, then load it again, with a reason: flow run --load-again.",
    )
