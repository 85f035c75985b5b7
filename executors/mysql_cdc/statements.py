"""Statements in the binary log: what each means for a followed table.

Changes of rows are events of their own. Statements define tables, or change rows where a session has another
`binlog_format`. What cannot be followed is refused, and so is what may mean the table and is not understood.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from executors.errors import Terminal
from executors.mysql_cdc.alterations import changes_columns, dropped_column, table_gone
from executors.mysql_cdc.events import Query
from executors.mysql_cdc.tokens import Token, split, tokens_of


class Effect(Enum):
    """What a statement means for the table."""

    NONE = "none"
    TRUNCATES = "truncates"
    CHANGES_COLUMNS = "changes columns"


_SHORT = 20
"""The number of characters that contain the first two words of statements of transactions."""
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
            return self._of_database(query, tokens, words)
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
        raise table_gone(str(self), tokens)

    def dropped(self, query: Query) -> set[str]:
        """Return the columns that a statement drops, which changes columns of the table; names in lower case. Raises
        Terminal `cdc.source_changed` if they cannot be read."""
        tokens = tokens_of(query.text)
        at = [token.word for token in tokens].index("TABLE") + 1
        if [token.word for token in tokens[at : at + 2]] == ["IF", "EXISTS"]:
            at += 2
        _, at = self._names(query, tokens, at)
        drops = (clause for clause in split(tokens[at:]) if clause and clause[0].word == "DROP")
        names = {dropped_column(clause) for clause in drops}
        if not query.is_readable and not all(name.isascii() for name in names):
            raise table_gone(str(self), tokens)
        return names

    def names(self, database: str, name: str) -> bool:
        """Whether this is the name of the table."""
        here = (self.database, self.name)
        if self.folds:
            return (database.casefold(), name.casefold()) == (here[0].casefold(), here[1].casefold())
        return (database, name) == here

    # --- names ----------------------------------------------------------------------------------------------------

    def _is(self, text: str, name: str) -> bool:
        return text.casefold() == name.casefold() if self.folds else text == name

    def _may_mean(self, query: Query, tokens: Sequence[Token]) -> bool:
        """Whether a statement contains the name of the table. Raises Terminal `cdc.source_changed` if it may have the
        name in a character set that is not known."""
        found = any(self._is(token.text, self.name) for token in tokens)
        if not query.is_readable and not (self.name if not found else self.database).isascii():
            raise table_gone(str(self), tokens)
        return found

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

    def _of_database(self, query: Query, tokens: Sequence[Token], words: Sequence[str]) -> Effect:
        is_dropped = words[0] == "DROP" or words[:3] == ["CREATE", "OR", "REPLACE"]
        is_hidden = not query.is_readable and not self.database.isascii()
        if is_dropped and (is_hidden or any(self._is(token.text, self.database) for token in tokens[2:])):
            raise table_gone(str(self), tokens)
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
                raise table_gone(str(self), tokens)
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
                raise table_gone(str(self), tokens)
            return Effect.NONE
        self._require_unnamed(query, tokens, at)
        return Effect.NONE

    def _other_definition(self, query: Query, tokens: Sequence[Token], words: Sequence[str]) -> Effect:
        """Indexes, views, triggers and the like: only rows of the table matter here."""
        known = _DEFINES_OTHERS | {"TEMPORARY"}
        if any(word in known for word in words[1:_LONGEST_START]):
            return Effect.NONE
        raise table_gone(str(self), tokens)

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
        changes = [changes_columns(str(self), clause) for clause in split(tokens[at:])]
        return Effect.CHANGES_COLUMNS if any(changes) else Effect.NONE

    def _require_not_moved_here(self, tokens: Sequence[Token], at: int) -> None:
        """Refuse that rows of the table move to another one, or another table gets its name."""
        words = [token.word for token in tokens]
        moves = {"RENAME", "EXCHANGE", "CONVERT"} & set(words[at:])
        if moves and any(self._is(token.text, self.name) for token in tokens[at:]):
            raise table_gone(str(self), tokens)

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"


def ends_transaction(text: str) -> bool:
    """Whether a statement of a transaction is its last one."""
    words = [token.word for token in tokens_of(text[:_SHORT])][:2]
    return words[:1] == ["COMMIT"] or (words[:1] == ["ROLLBACK"] and words != ["ROLLBACK", "TO"])
