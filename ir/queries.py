"""Which queries sources and checks may run: one plain SELECT, read by PostgreSQL's own parser, that changes nothing.

What only a database knows (functions of its own, views) is looked at again before the query runs, and it runs in a
read-only transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ir.diagnostics import Diagnostic, diagnose, listed, shown
from ir.kinds import KindTable
from ir.pointers import Pointer

MAX_BYTES = 100_000


class QueryRefused(ValueError):
    """A query that must not run. `code` is that of the diagnostic."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(frozen=True, slots=True)
class Query:
    """The statement without what may follow it, the functions that it names: (schema or '', name), and the names of
    result columns that it spells, here or in a part of it, so that no star gives them unasked."""

    text: str
    functions: tuple[tuple[str, str], ...]
    spelled: frozenset[str]


def check_query(
    text: str, at: Pointer, *, given: tuple[str, ...] = (), forbidden: tuple[str, ...] = ()
) -> Iterator[Diagnostic]:
    """Whether this may run."""
    try:
        read_query(text, given, forbidden)
    except QueryRefused as refused:
        yield diagnose(refused.code, at, refused.message)


@lru_cache(maxsize=64)
def read_query(text: str, given: tuple[str, ...] = (), forbidden: tuple[str, ...] = ()) -> Query:
    """The one SELECT of a text; raises QueryRefused.

    `given` are tables that it may name without a schema, `forbidden` schemas that it must not read.
    """
    statement, location = _parsed(text)
    nodes = list(_nodes(statement))
    for node in nodes:
        kind = _kind(node)
        refuse = _REFUSALS.get(kind)
        why = refuse(node) if refuse else _statement(kind)
        if why:
            raise QueryRefused("query.not_allowed", why)
    _require_schemas(nodes, given, forbidden)
    functions = dict.fromkeys(_function(node) for node in nodes if _kind(node) == "FuncCall")
    spelled = frozenset(name for node in nodes for name in _result_names(node))
    return Query(text.encode()[location].decode().strip(), tuple(functions), spelled)


def _parsed(text: str) -> tuple[Any, slice]:
    """The tree of the one statement, and where it stands in the text's bytes."""
    # Where there is no query no process pays for the grammar.
    import postgast
    from google.protobuf.message import DecodeError

    # The parser reads a C string: what stands behind a NUL it would not even see.
    if "\0" in text or len(text.encode(errors="replace")) > MAX_BYTES:
        raise QueryRefused("query.malformed", f"A query has at most {MAX_BYTES:,} bytes and no NUL character.")
    try:
        statements = postgast.parse(text).stmts
    except postgast.PgQueryError as error:
        raise QueryRefused("query.malformed", f"PostgreSQL cannot read this: {error}.") from None
    except (DecodeError, UnicodeError):
        raise QueryRefused("query.malformed", "The query is nested too deeply, or no text.") from None
    if len(statements) != 1:
        raise QueryRefused("query.not_allowed", f"There are {len(statements)} statements; one is run.")
    only = statements[0]
    end = only.stmt_location + only.stmt_len if only.stmt_len else None
    return getattr(only.stmt, str(only.stmt.WhichOneof("node"))), slice(only.stmt_location, end)


def _nodes(tree: Any) -> Iterator[Any]:
    import postgast

    return (node for _, node in postgast.walk(tree))


def _kind(node: Any) -> str:
    return str(type(node).DESCRIPTOR.name)


def _function(call: Any) -> tuple[str, str]:
    *schema, name = [part.string.sval for part in call.funcname]
    return ".".join(schema), name


def _result_names(node: Any) -> list[str]:
    match _kind(node):
        case "ResTarget" if node.name:
            return [node.name]
        case "ResTarget" if node.val.HasField("column_ref"):
            last = node.val.column_ref.fields[-1]
            return [last.string.sval] if last.HasField("string") else []
        case "Alias":
            return [name.string.sval for name in node.colnames]
        case "CommonTableExpr":
            return [name.string.sval for name in node.aliascolnames]
    return []


def _statement(kind: str) -> str | None:
    """Statements other than SELECT, wherever they stand."""
    if not kind.endswith("Stmt"):
        return None
    return f"A query only reads; {kind.removesuffix('Stmt').upper()} does more."


def _select(node: Any) -> str | None:
    return "FOR UPDATE and FOR SHARE lock rows; a query only reads." if node.locking_clause else None


def _into(node: Any) -> str | None:
    return "SELECT INTO makes a table."


def _parameter(node: Any) -> str | None:
    return f"The parameter ${node.number} would have no value."


def _sample(node: Any) -> str | None:
    if node.HasField("repeatable"):
        return None
    return "TABLESAMPLE gives other rows each time that it is asked; add REPEATABLE (a number)."


def _call(node: Any) -> str | None:
    schema, name = _function(node)
    if schema not in ("", "pg_catalog"):
        return None
    if name not in _HARMLESS and name.startswith(_UNSAFE_PREFIXES):
        return f"The function {name} does more than compute a value."
    return f"The function {name} gives something else each time that it is asked." if name in _CHANGING else None


_REFUSALS: KindTable[Callable[[Any], str | None]] = KindTable(
    "part of a query",
    (
        ("SelectStmt", _select),
        ("IntoClause", _into),
        ("ParamRef", _parameter),
        ("RangeTableSample", _sample),
        ("FuncCall", _call),
    ),
)

_UNSAFE_PREFIXES = (
    "pg_", "lo_", "dblink", "query_to_xml", "cursor_to_xml", "table_to_xml", "schema_to_xml", "database_to_xml",
    "set_config", "setseed", "nextval", "setval", "currval", "lastval", "binary_upgrade", "ts_stat",
)  # fmt: skip
_HARMLESS = frozenset({"pg_typeof", "pg_column_size", "pg_size_pretty", "pg_size_bytes", "pg_input_is_valid"})
_CHANGING = frozenset({
    "random", "random_normal", "clock_timestamp", "timeofday", "gen_random_uuid", "uuidv4", "uuidv7",
})  # fmt: skip


def _require_schemas(nodes: list[Any], given: tuple[str, ...], forbidden: tuple[str, ...]) -> None:
    """Sessions of Flow have no search path, so that a name never means another table than its author saw."""
    named = {node.ctename for node in nodes if _kind(node) == "CommonTableExpr"} | set(given)
    tables = [node for node in nodes if _kind(node) == "RangeVar"]
    if bare := [table.relname for table in tables if not table.schemaname and table.relname not in named]:
        raise QueryRefused("query.not_allowed", f"Write tables with their schema: {listed(map(shown, bare))}.")
    if private := [table.schemaname for table in tables if table.schemaname in forbidden]:
        raise QueryRefused("query.not_allowed", f"The schema {private[0]} is Flow's own.")
