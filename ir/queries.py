"""The queries that sources and checks may run: one plain SELECT that changes nothing, parsed by PostgreSQL's own
parser.

Functions must be on a list. Facts that only the database knows (custom functions, operators and types that call
functions, views) are checked before the query runs, in a read-only transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ir.allowances import CATALOG, Name, listed_functions, why_not_read
from ir.budget import spend
from ir.diagnostics import Diagnostic, diagnose, listed, shown
from ir.kinds import KindTable
from ir.pointers import Pointer

MAX_BYTES = 100_000


class QueryRefused(ValueError):
    """A query that must not run. `code` is the code of the diagnostic."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(frozen=True, slots=True)
class Query:
    """A statement without trailing text, and the names in it as (schema or '', name).

    `functions` are all functions that it calls. `fields` are names after an expression, `(x).name`, which PostgreSQL
    may also treat as a function call. `operators` and `types` contain only those that PostgreSQL does not provide.
    `spelled` are the result columns that the query or a part of it names, which a star therefore does not add by
    accident.
    """

    text: str
    functions: tuple[Name, ...]
    fields: tuple[str, ...]
    operators: tuple[Name, ...]
    types: tuple[Name, ...]
    tables: tuple[Name, ...]
    spelled: frozenset[str]

    @property
    def foreign_functions(self) -> tuple[Name, ...]:
        """The functions that PostgreSQL does not provide. An admin allows them, or they are refused."""
        return tuple(name for name in self.functions if name[0] not in ("", CATALOG))


def check_query(text: str, at: Pointer, *, given: tuple[str, ...] = ()) -> Iterator[Diagnostic]:
    """Check that the query may run, except for functions that PostgreSQL does not provide."""
    try:
        read_query(text, given)
    except QueryRefused as refused:
        yield diagnose(refused.code, at, refused.message)


@lru_cache(maxsize=64)
def read_query(text: str, given: tuple[str, ...] = ()) -> Query:
    """Parse a text with one SELECT; raises QueryRefused. `given` are tables that it may name without a schema."""
    statement, location = _parsed(text)
    query = read_select(statement, text.encode()[location].decode().strip())
    bare = [name for schema, name in query.tables if not schema and name not in given]
    if bare:
        raise QueryRefused("query.not_allowed", f"Write tables with their schema: {listed(map(shown, bare))}.")
    return query


def read_select(statement: Any, text: str) -> Query:
    """Return the names in a parsed SELECT; raises QueryRefused for constructs that no query may contain. Tables without
    a schema are in `tables` too, unless a WITH names them."""
    nodes = list(_nodes(statement))
    for node in nodes:
        kind = _kind(node)
        refuse = _REFUSALS.get(kind)
        why = refuse(node) if refuse else _statement(kind)
        if why:
            raise QueryRefused("query.not_allowed", why)
    return Query(
        text,
        functions=_names(nodes, "FuncCall"),
        fields=tuple(dict.fromkeys(name for node in nodes for name in _fields(node))),
        operators=tuple(name for kind in _OPERATOR for name in _names(nodes, kind) if name[0] not in ("", CATALOG)),
        types=tuple(name for name in _names(nodes, "TypeName") if name[0] not in ("", CATALOG)),
        tables=_tables(nodes),
        spelled=frozenset(name for node in nodes for name in _result_names(node)),
    )


def _parsed(text: str) -> tuple[Any, slice]:
    """Return the tree of the only statement, and its position in the bytes of the text."""
    # Imported here, so that only processes with queries load the grammar.
    import postgast
    from google.protobuf.message import DecodeError

    # The parser reads a C string and would ignore everything after a NUL.
    if "\0" in text or len(text.encode(errors="replace")) > MAX_BYTES:
        raise QueryRefused("query.malformed", f"A query has at most {MAX_BYTES:,} bytes and no NUL character.")
    spend(2 * len(text))
    try:
        statements = postgast.parse(text).stmts
    except postgast.PgQueryError as error:
        raise QueryRefused("query.malformed", f"PostgreSQL cannot parse the query: {error}.") from None
    except (DecodeError, UnicodeError):
        raise QueryRefused("query.malformed", "The query is nested too deeply or is not valid text.") from None
    if len(statements) != 1:
        raise QueryRefused("query.not_allowed", f"The query has {len(statements)} statements instead of one.")
    only = statements[0]
    end = only.stmt_location + only.stmt_len if only.stmt_len else None
    return getattr(only.stmt, str(only.stmt.WhichOneof("node"))), slice(only.stmt_location, end)


def _nodes(tree: Any) -> Iterator[Any]:
    import postgast

    for _, node in postgast.walk(tree):
        spend(20)
        yield node


def _kind(node: Any) -> str:
    return str(type(node).DESCRIPTOR.name)


_OPERATOR = {"A_Expr": "name", "SubLink": "oper_name", "SortBy": "use_op"}
_NAMED = {"FuncCall": "funcname", "TypeName": "names", "RangeTableSample": "method", **_OPERATOR}
"""The fields of grammar nodes that contain names with an optional schema."""


def _name(node: Any) -> Name:
    """Return schema and name. Raises QueryRefused for a name with three parts, whose first part is the database."""
    parts = [part.string.sval for part in getattr(node, _NAMED[_kind(node)])]
    if len(parts) > 2:
        raise QueryRefused("query.not_allowed", f"Write {shown('.'.join(parts))} without the database's name.")
    schema, name = ("", "", *parts)[-2:]
    return schema, name


def _names(nodes: list[Any], kind: str) -> tuple[Name, ...]:
    return tuple(dict.fromkeys(_name(node) for node in nodes if _kind(node) == kind))


def _fields(node: Any) -> list[str]:
    if _kind(node) != "A_Indirection":
        return []
    return [step.string.sval for step in node.indirection if step.HasField("string")]


def _tables(nodes: list[Any]) -> tuple[Name, ...]:
    """Return the tables of a query. Flow's sessions have no search path, so a name always means the table that its
    author intended."""
    named = {node.ctename for node in nodes if _kind(node) == "CommonTableExpr"}
    tables = dict.fromkeys((node.schemaname, node.relname) for node in nodes if _kind(node) == "RangeVar")
    return tuple((schema, name) for schema, name in tables if schema or name not in named)


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
    """Refuse statements other than SELECT anywhere in the query."""
    if not kind.endswith("Stmt"):
        return None
    return f"A query only reads; {kind.removesuffix('Stmt').upper()} does more."


def _select(node: Any) -> str | None:
    return "FOR UPDATE and FOR SHARE lock rows; a query only reads." if node.locking_clause else None


def _into(node: Any) -> str | None:
    return "SELECT INTO makes a table."


def _parameter(node: Any) -> str | None:
    return f"The parameter ${node.number} has no value."


def _sample(node: Any) -> str | None:
    schema, method = _name(node)
    if schema not in ("", CATALOG) or method not in ("system", "bernoulli"):
        return f"TABLESAMPLE takes system or bernoulli; {shown(method)} is not a built-in method."
    if node.HasField("repeatable"):
        return None
    return "TABLESAMPLE returns different rows each time. Add REPEATABLE (a number)."


def _call(node: Any) -> str | None:
    schema, name = _name(node)
    if schema not in ("", CATALOG) or name in listed_functions():
        return None
    if name in _CHANGING:
        return f"The function {name} returns a different value each time."
    own = "" if schema else f" For a custom function, write its schema: schema.{name}."
    return f"The function {name} is not a built-in function that only computes a value.{own}"


def _indirection(node: Any) -> str | None:
    """Check field names that PostgreSQL would resolve as functions."""
    taken = [name for name in _fields(node) if name.startswith("pg_") and name not in listed_functions()]
    return f"(…).{taken[0]} calls a function that does not only compute a value." if taken else None


def _relation(node: Any) -> str | None:
    return why_not_read(node.schemaname, node.relname)


_REFUSALS: KindTable[Callable[[Any], str | None]] = KindTable(
    "part of a query",
    (
        ("SelectStmt", _select),
        ("IntoClause", _into),
        ("ParamRef", _parameter),
        ("RangeTableSample", _sample),
        ("FuncCall", _call),
        ("A_Indirection", _indirection),
        ("RangeVar", _relation),
    ),
)

_CHANGING = frozenset(
    {
        "random",
        "random_normal",
        "clock_timestamp",
        "timeofday",
        "gen_random_uuid",
        "uuidv4",
        "uuidv7",
    }
)
