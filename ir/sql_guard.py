"""The guard of SQL in hooks. It parses a statement with PostgreSQL's own grammar and never searches its text for words.

It connects to no database. It checks a statement when a version is saved, and again before the statement is sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ir.budget import spend
from ir.diagnostics import listed, shown
from ir.kinds import KindTable
from ir.queries import Query, QueryRefused, read_select

ALLOWED = "ANALYZE, REFRESH MATERIALIZED VIEW, CLUSTER, VACUUM, REINDEX, EXPLAIN of a plain SELECT, SET"

SETTINGS = frozenset(
    {
        "effective_cache_size",
        "effective_io_concurrency",
        "enable_hashagg",
        "enable_hashjoin",
        "enable_indexonlyscan",
        "enable_indexscan",
        "enable_mergejoin",
        "enable_nestloop",
        "enable_seqscan",
        "enable_sort",
        "hash_mem_multiplier",
        "jit",
        "maintenance_io_concurrency",
        "maintenance_work_mem",
        "max_parallel_maintenance_workers",
        "max_parallel_workers_per_gather",
        "random_page_cost",
        "seq_page_cost",
        "work_mem",
    }
)
"""The parameters that SET may set: they affect the speed of a load, never its result."""

EXPLAIN_OPTIONS = frozenset({"buffers", "costs", "format", "generic_plan", "memory", "settings", "summary", "verbose"})

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_FIRST_WORD = re.compile(r"\s*(\w+)")


@dataclass(frozen=True, slots=True)
class HookStatement:
    """An allowed statement. `setting` is the parameter of a SET, `explained` the query of an EXPLAIN, and
    `names_tables` marks a VACUUM or ANALYZE of named tables: PostgreSQL only warns and skips those that the role may
    not process."""

    setting: tuple[str, str] | None = None
    explained: Query | None = None
    names_tables: bool = False


class StatementRefused(ValueError):
    """A statement that hooks may not run. `code` is one of `ir.codes`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def read_hook_statement(text: str) -> HookStatement:
    """Parse a statement that a hook may run; raises StatementRefused."""
    kind, statement = _parsed(text)
    if kind not in _READERS:
        word = _FIRST_WORD.match(text)
        raise StatementRefused(
            "hook.sql_not_allowed", f"A hook cannot run {word[1].upper() if word else 'this'}. Allowed: {ALLOWED}."
        )
    return _READERS[kind](statement)


def _parsed(text: str) -> tuple[str, Any]:
    """Return the grammar's name of the only statement, and its tree."""
    # Imported here, so that only processes with hooks load the grammar.
    import postgast
    from google.protobuf.message import DecodeError

    # The parser reads a C string and would ignore everything after a NUL.
    if found := _CONTROL.search(text):
        raise StatementRefused("hook.sql_malformed", f"The statement contains the control character {shown(found[0])}.")
    spend(4 * len(text))
    try:
        statements = postgast.parse(text).stmts
        tokens = postgast.scan(text).tokens
    except postgast.PgQueryError as error:
        raise StatementRefused("hook.sql_malformed", f"PostgreSQL cannot parse the statement: {error}.") from None
    except (DecodeError, UnicodeError):
        raise StatementRefused(
            "hook.sql_malformed", "The statement is nested too deeply or is not valid text."
        ) from None
    if any(token.token in (postgast.pg_query_pb2.SQL_COMMENT, postgast.pg_query_pb2.C_COMMENT) for token in tokens):
        raise StatementRefused("hook.sql_comment", "The statement contains a comment.")
    if len(statements) != 1:
        raise StatementRefused("hook.sql_not_one", f"A hook runs one statement, not {len(statements)}.")
    node = statements[0].stmt
    kind = str(node.WhichOneof("node"))
    return kind, getattr(node, kind)


def _read_plain(statement: Any) -> HookStatement:
    return HookStatement()


def _read_vacuum(statement: Any) -> HookStatement:
    return HookStatement(names_tables=bool(statement.rels))


def _read_explain(statement: Any) -> HookStatement:
    options = [option.def_elem.defname for option in statement.options]
    if refused := [name for name in options if name not in EXPLAIN_OPTIONS]:
        why = "ANALYZE runs what it explains" if "analyze" in refused else f"it takes {listed(sorted(EXPLAIN_OPTIONS))}"
        raise StatementRefused("hook.sql_not_allowed", f"EXPLAIN has the option {refused[0].upper()}; {why}.")
    for kind in _kinds_below(statement.query):
        if (kind.endswith("Stmt") and kind != "SelectStmt") or kind in ("IntoClause", "LockingClause"):
            raise StatementRefused(
                "hook.sql_not_allowed", f"EXPLAIN is for a plain SELECT in a hook; this holds {_words(kind)}."
            )
    # Planning evaluates functions that are declared immutable.
    try:
        return HookStatement(explained=read_select(statement.query.select_stmt, ""))
    except QueryRefused as error:
        raise StatementRefused("hook.sql_not_allowed", error.message) from None


def _kinds_below(tree: Any) -> Iterator[str]:
    """Yield the names of all kinds of nodes in a tree."""
    import postgast

    for _, node in postgast.walk(tree):
        spend(20)
        yield type(node).DESCRIPTOR.name


def _words(kind: str) -> str:
    """Convert the grammar's name of a statement to words: `DeleteStmt` to `DELETE`."""
    return {"IntoClause": "INTO", "LockingClause": "FOR UPDATE or a similar lock"}.get(
        kind, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.removesuffix("Stmt")).upper()
    )


def _read_set(statement: Any) -> HookStatement:
    name = statement.name.lower()
    values = [_constant(argument) for argument in statement.args]
    if name not in SETTINGS:
        raise StatementRefused(
            "hook.setting_not_listed", f"A hook cannot set {shown(name)}. Allowed settings: {listed(sorted(SETTINGS))}."
        )
    if len(values) != 1 or values[0] is None:
        raise StatementRefused("hook.sql_not_allowed", f"SET {name} needs a single value.")
    return HookStatement(setting=(name, values[0]))


def _constant(argument: Any) -> str | None:
    """Return a number, word or text in the form that SET takes; None for anything else."""
    constant = argument.a_const
    match constant.WhichOneof("val") if argument.HasField("a_const") else None:
        case "ival":
            return str(constant.ival.ival)
        case "fval":
            return str(constant.fval.fval)
        case "sval":
            return str(constant.sval.sval)
    return None


_READERS: KindTable[Callable[[Any], HookStatement]] = KindTable(
    "SQL hook statement",
    (
        ("vacuum_stmt", _read_vacuum),  # ANALYZE as well
        ("refresh_mat_view_stmt", _read_plain),
        ("cluster_stmt", _read_plain),
        ("reindex_stmt", _read_plain),
        ("explain_stmt", _read_explain),
        ("variable_set_stmt", _read_set),
    ),
)
