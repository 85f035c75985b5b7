"""Statements in the binary log: what each means for a followed table.

Changes of rows are events of their own. Statements define tables, or change rows where a session has another
`binlog_format`. What cannot be followed is refused, and so is what may mean the table and is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from executors.errors import Terminal
from executors.mysql_cdc.events import Query


class Effect(Enum):
    """What a statement means for the table."""

    NONE = "none"
    TRUNCATES = "truncates"
    CHANGES_COLUMNS = "changes columns"


_TOKEN = re.compile(
    r"\s+|/\*M?!\d*|/\*.*?\*/|\*/|(?:--\s|#)[^\n]*|(?P<name>`(?:[^`]|``)*`)"
    r"|(?P<quoted>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")|(?P<word>[\w$\x80-\xff]+)|(?P<sign>.)",
    re.DOTALL,
)
"""Text in comments with `!` is part of the statement."""

_LONGEST_START = 40
"""The number of words before which CREATE says what it makes."""
_MOST_NAMED = 1 << 20
"""A longer statement defines nothing."""

_CHANGES_ROWS = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "CALL", "DO", "SELECT", "WITH", "HANDLER"})
_DEFINES_OTHERS = frozenset(
    {"PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "VIEW", "USER", "ROLE", "SERVER", "PACKAGE", "SEQUENCE", "INDEX"}
)
_NO_TABLES = frozenset(
    {"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "XA", "GRANT", "REVOKE", "SET", "FLUSH", "ANALYZE",
     "OPTIMIZE", "REPAIR", "CHECK", "INSTALL", "UNINSTALL", "START", "RESET"}
)  # fmt: skip
_WITHOUT_DATA = frozenset(
    {"ALGORITHM", "LOCK", "COMMENT", "AUTO_INCREMENT", "ROW_FORMAT", "FORCE", "ENABLE", "DISABLE", "STATS_PERSISTENT",
     "STATS_AUTO_RECALC", "STATS_SAMPLE_PAGES", "AVG_ROW_LENGTH", "MAX_ROWS", "MIN_ROWS", "KEY_BLOCK_SIZE", "WAIT",
     "NOWAIT"}
)  # fmt: skip
_INDEXES = frozenset({"INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK"})
_ACTIONS = ("CASCADE", "NULL", "DEFAULT")
_FILLS = frozenset({"NOT", "DEFAULT", "AS", "GENERATED", "AUTO_INCREMENT", "SERIAL", "PRIMARY", "TIMESTAMP", "PERIOD"})


@dataclass(frozen=True, slots=True)
class Token:
    """A word, name or sign. `word` is in upper case, empty for a quoted name."""

    text: str
    word: str


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a statement without its comments."""
    return list(_tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(text):
        if found["name"] is not None:
            yield Token(found["name"][1:-1].replace("``", "`"), "")
        elif found["quoted"] is not None:
            yield Token(found["quoted"][1:-1], "'")
        elif found["word"] is not None:
            yield Token(found["word"], found["word"].upper())
        elif found["sign"] is not None:
            yield Token(found["sign"], found["sign"])


@dataclass(frozen=True, slots=True)
class Statements:
    """Classifies statements for the table `name` of a database. With `folds`, the server ignores the case of names."""

    database: str
    name: str
    folds: bool

    def effect(self, query: Query) -> Effect:
        """Return the effect of a statement. Raises Terminal `cdc.statement_logged`, `cdc.source_changed`,
        `cdc.column_filled` and `cdc.columns_rewritten`."""
        start = query.text.lstrip()[:12].upper()
        if start.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "XA ", "GRANT ", "FLUSH ", "SET ")):
            return Effect.NONE
        if len(query.text) > _MOST_NAMED and start.startswith(tuple(_CHANGES_ROWS)):
            raise self._changes_rows()
        tokens = tokens_of(query.text)
        words = [token.word for token in tokens]
        if not tokens:
            return Effect.NONE
        if words[0] in _CHANGES_ROWS:
            self._require_harmless(query, tokens)
            return Effect.NONE
        if words[0] in _NO_TABLES:
            return Effect.NONE
        if "DATABASE" in words[1:4] or "SCHEMA" in words[1:4]:
            return self._of_database(tokens, words)
        if not self._may_mean(query, tokens):
            return Effect.NONE
        if words[0] == "TRUNCATE":
            return self._truncate(query, tokens)
        if words[0] in ("CREATE", "DROP"):
            return self._made_or_dropped(query, tokens, words)
        if words[0] == "ALTER":
            return self._altered(query, tokens, words)
        if words[0] == "RENAME":
            return self._renamed(query, tokens, words)
        raise self._gone(tokens)

    def dropped(self, query: Query) -> set[str]:
        """Return the columns that a statement drops, which changes columns of the table; names in lower case."""
        tokens = tokens_of(query.text)
        at = [token.word for token in tokens].index("TABLE") + 1
        if [token.word for token in tokens[at : at + 2]] == ["IF", "EXISTS"]:
            at += 2
        _, at = self._names(query, tokens, at)
        drops = (clause for clause in _split(tokens[at:]) if clause and clause[0].word == "DROP")
        return {_dropped_column(clause) for clause in drops}

    # --- names ----------------------------------------------------------------------------------------------------

    def _is(self, text: str, name: str) -> bool:
        here = name.encode().decode("latin-1")
        return text.casefold() == here.casefold() if self.folds else text == here

    def _may_mean(self, query: Query, tokens: Sequence[Token]) -> bool:
        """Whether a statement contains the name of the table. A name that is not ASCII may be written in any character
        set."""
        if not self.name.isascii() and not query.text.isascii():
            return True
        return any(self._is(token.text, self.name) for token in tokens)

    def _names(self, query: Query, tokens: Sequence[Token], at: int) -> tuple[bool, int]:
        """Return whether the tokens from `at` name the table, and the position after the name."""
        if at >= len(tokens):
            return False, at
        if at + 2 < len(tokens) and tokens[at + 1].text == ".":
            is_here = self._is(tokens[at].text, self.database) and self._is(tokens[at + 2].text, self.name)
            return is_here, at + 3
        selected = query.database.casefold() if self.folds else query.database
        mine = self.database.casefold() if self.folds else self.database
        return selected == mine and self._is(tokens[at].text, self.name), at + 1

    # --- kinds of statements --------------------------------------------------------------------------------------

    def _require_harmless(self, query: Query, tokens: Sequence[Token]) -> None:
        """Refuse changes of rows, but those of the server's own tables, and what it writes for an emptied MEMORY table
        after a restart."""
        words = [token.word for token in tokens]
        if words[:2] == ["DELETE", "FROM"]:
            is_here, after = self._names(query, tokens, 2)
            if not is_here and after == len(tokens):
                return
        into = 2 if words[1:2] in (["INTO"], ["FROM"]) else 1
        if len(tokens) > into + 1 and tokens[into].text == "mysql" and tokens[into + 1].text == ".":
            return
        raise self._changes_rows()

    def _changes_rows(self) -> Terminal:
        return Terminal(
            "cdc.statement_logged",
            "The log contains a statement that changes rows, not the rows: a session has set binlog_format to another "
            f"value than ROW. It may have changed rows of {self}.",
            hint="Let no session change binlog_format, then load the table again, with a reason.",
        )

    def _of_database(self, tokens: Sequence[Token], words: Sequence[str]) -> Effect:
        is_dropped = words[0] == "DROP" or words[:3] == ["CREATE", "OR", "REPLACE"]
        if is_dropped and any(self._is(token.text, self.database) for token in tokens[2:]):
            raise self._gone(tokens)
        return Effect.NONE

    def _renamed(self, query: Query, tokens: Sequence[Token], words: Sequence[str]) -> Effect:
        if words[1:2] not in (["TABLE"], ["TABLES"]):
            return Effect.NONE  # a user
        self._require_unnamed(query, tokens, 2)
        return Effect.NONE

    def _require_unnamed(self, query: Query, tokens: Sequence[Token], at: int) -> None:
        """Refuse a list of names from `at` on with that of the table."""
        if [token.word for token in tokens[at : at + 2]] == ["IF", "EXISTS"]:
            at += 2
        while at < len(tokens):
            is_here, at = self._names(query, tokens, at)
            if is_here:
                raise self._gone(tokens)
            at += 1  # a comma, or TO

    def _truncate(self, query: Query, tokens: Sequence[Token]) -> Effect:
        at = 2 if tokens[1].word == "TABLE" and len(tokens) > 2 else 1
        is_here, _ = self._names(query, tokens, at)
        return Effect.TRUNCATES if is_here else Effect.NONE

    def _made_or_dropped(self, query: Query, tokens: Sequence[Token], words: Sequence[str]) -> Effect:
        if "TABLE" not in words[:5] or "TEMPORARY" in words[:4]:
            return self._other_definition(query, tokens, words)
        at = words.index("TABLE") + 1
        if words[0] == "CREATE":
            is_replaced = "REPLACE" in words[:3]
            if words[at : at + 3] == ["IF", "NOT", "EXISTS"]:
                return Effect.NONE
            is_here, _ = self._names(query, tokens, at)
            if is_here or (is_replaced and self._is(tokens[at].text, self.name)):
                raise self._gone(tokens)
            return Effect.NONE
        self._require_unnamed(query, tokens, at)
        return Effect.NONE

    def _other_definition(self, query: Query, tokens: Sequence[Token], words: Sequence[str]) -> Effect:
        """Indexes, views, triggers and the like: only rows of the table matter here."""
        known = _DEFINES_OTHERS | {"TEMPORARY"}
        if any(word in known for word in words[1:_LONGEST_START]):
            return Effect.NONE
        raise self._gone(tokens)

    def _altered(self, query: Query, tokens: Sequence[Token], words: Sequence[str]) -> Effect:
        if "TABLE" not in words[1:4]:
            return Effect.NONE  # a database, a user, a view, …: no table changes
        at = words.index("TABLE") + 1
        if words[at : at + 2] == ["IF", "EXISTS"]:
            at += 2
        is_here, at = self._names(query, tokens, at)
        if not is_here:
            self._require_not_moved_here(tokens, at)
            return Effect.NONE
        effects = [self._clause(clause) for clause in _split(tokens[at:])]
        return Effect.CHANGES_COLUMNS if Effect.CHANGES_COLUMNS in effects else Effect.NONE

    def _require_not_moved_here(self, tokens: Sequence[Token], at: int) -> None:
        """Refuse that rows of the table move to another one, or another table gets its name."""
        words = [token.word for token in tokens]
        moves = {"RENAME", "EXCHANGE", "CONVERT"} & set(words[at:])
        if moves and any(self._is(token.text, self.name) for token in tokens[at:]):
            raise self._gone(tokens)

    def _clause(self, clause: Sequence[Token]) -> Effect:
        """Return the effect of one clause of ALTER TABLE."""
        words = [token.word for token in clause]
        first, second = (*words, "", "")[:2]
        if not words or first in _WITHOUT_DATA:
            return Effect.NONE
        if first in ("ADD", "DROP") and second in _INDEXES:
            self._require_no_cascade(words)
            return Effect.NONE
        if first == "RENAME" and second in ("INDEX", "KEY"):
            return Effect.NONE
        if first == "ALTER":  # the default of a column, or an index
            return Effect.NONE
        if first in ("DEFAULT", "CHARACTER", "CHARSET", "COLLATE", "ENGINE"):
            return Effect.NONE
        if (
            first in ("ADD", "REORGANIZE", "REBUILD", "OPTIMIZE", "ANALYZE", "CHECK", "REPAIR")
            and second == "PARTITION"
        ):
            return Effect.NONE
        if first == "ADD" and second not in ("PRIMARY", "SYSTEM", "PERIOD"):
            self._require_empty(clause)
            return Effect.CHANGES_COLUMNS
        if first == "DROP" and second not in ("PRIMARY", "PARTITION", "SYSTEM", "PERIOD"):
            return Effect.CHANGES_COLUMNS
        if first == "RENAME" and second != "COLUMN":
            raise self._gone(clause)
        raise Terminal(
            "cdc.columns_rewritten",
            f"ALTER TABLE {self} with {first} {second} may have changed, removed or renamed values without a change in "
            "the log.",
            hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
        )

    def _require_empty(self, clause: Sequence[Token]) -> None:
        """Refuse a new column that may have values in rows that existed before it."""
        words = [token.word for token in clause]
        nulls = [i for i, word in enumerate(words) if word == "DEFAULT" and words[i + 1 : i + 2] == ["NULL"]]
        fills = [word for i, word in enumerate(words) if word in _FILLS and i not in nulls]
        if fills:
            raise Terminal(
                "cdc.column_filled",
                f"A new column of {self} may have values in rows that existed before it ({fills[0]} in ALTER TABLE), "
                "and the log does not contain them.",
                hint="Load the table again, with a reason: flow run --load-again. Nothing was changed.",
            )

    def _require_no_cascade(self, words: Sequence[str]) -> None:
        if "REFERENCES" in words and any(word in words for word in _ACTIONS):
            raise Terminal(
                "cdc.changes_unlogged",
                f"{self} has got a foreign key with an action such as CASCADE, whose changes the log does not contain.",
                hint="Drop the action of the foreign key, then load the table again, with a reason.",
            )

    def _gone(self, tokens: Sequence[Token]) -> Terminal:
        what = " ".join(token.text for token in tokens[:3])
        return Terminal(
            "cdc.source_changed",
            f"A statement of the log ({what} …) drops, replaces or renames {self}, or Flow cannot read what it does to "
            "it. Nothing was changed.",
            hint="Check the table, then load it again, with a reason: flow run --load-again.",
        )

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


def _split(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the parts between the commas that are in no parentheses."""
    clause: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.text == "(" and token.word == "(") - (token.text == ")" and token.word == ")")
        if token.word == "," and not depth:
            yield clause
            clause = []
        elif token.word != ";" or depth:
            clause.append(token)
    yield clause


def _dropped_column(clause: Sequence[Token]) -> str:
    at = 1 + (clause[1].word == "COLUMN")
    if [token.word for token in clause[at : at + 2]] == ["IF", "EXISTS"]:
        at += 2
    return clause[at].text.casefold()
