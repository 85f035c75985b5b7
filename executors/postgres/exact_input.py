"""Checks whether PostgreSQL stores a text exactly as given when it parses it as a type.

Many input functions round or truncate without an error, and the accepted spellings of numbers differ between releases.
So each scalar in a text is compared with the server's result, and numbers must match Flow's own grammar. Elements of
arrays, fields of composites and values of domains are scalars too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from psycopg import sql

from executors.postgres.ddl import Conn

_FRACTION = r"\.[0-9]{6}[0-9]*[1-9]"
_WHOLE = r"^\s*[+-]?[0-9]+\s*$"
# Some servers parse a leading zero as octal.
_UNSIGNED = r"^\s*(0|[1-9][0-9]*)\s*$"
_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DECIMAL = rf"^\s*{_NUMBER}\s*$"
_FLOAT = rf"^\s*({_NUMBER}|NaN|-?Infinity)\s*$"
_CLOCK = r"^\s*T?[0-9:.]+( ?[AaPp][Mm])?\s*$"
_ODD_NUMBER = r"[0-9]_[0-9]|0[xXoObB]"


@dataclass(frozen=True, slots=True)
class _Scalar:
    """`matches` is a pattern that a text must match, `holds_no` a pattern that it must not contain, `range_holds_no` a
    pattern that the text of a range with such bounds must not contain instead. `keeps` is a condition on the text (0)
    and its value in the plain type (1). `rounds` means that a length or precision changes values."""

    matches: str | None = None
    holds_no: str | None = None
    range_holds_no: str | None = None
    keeps: str | None = None
    rounds: bool = False


_SCALARS: dict[str, _Scalar] = {
    **dict.fromkeys(("int2", "int4", "int8"), _Scalar(_WHOLE, range_holds_no=_ODD_NUMBER)),
    **dict.fromkeys(("oid", "xid", "xid8", "cid"), _Scalar(_UNSIGNED)),
    "numeric": _Scalar(_FLOAT, range_holds_no=_ODD_NUMBER, rounds=True),
    **dict.fromkeys(("float4", "float8"), _Scalar(_FLOAT, range_holds_no=_ODD_NUMBER)),
    "money": _Scalar(holds_no=r"\.[0-9]{2}[0-9]*[1-9]"),
    "date": _Scalar(holds_no="[0-9]T[0-9]|:"),
    "time": _Scalar(_CLOCK, _FRACTION, rounds=True),
    "timetz": _Scalar(holds_no=_FRACTION, rounds=True),
    # The server would ignore an offset.
    "timestamp": _Scalar(holds_no=_FRACTION, keeps="({0}::timestamptz AT TIME ZONE 'UTC') = {1}", rounds=True),
    "timestamptz": _Scalar(holds_no=_FRACTION, rounds=True),
    "interval": _Scalar(holds_no=_FRACTION, rounds=True),
    "varchar": _Scalar(rounds=True),
    "name": _Scalar(keeps="{0} = {1}::text"),
    "char": _Scalar(keeps="{0} = {1}::text"),
}
"""By name in pg_catalog. Other types are stored exactly, or refused with an error."""

_TYPE = """
SELECT format_type(t.oid, -1), CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname ELSE '' END,
       CASE WHEN e.typarray = t.oid THEN 'array' ELSE t.typtype::text END,
       CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod)
            WHEN r.rngsubtype IS NOT NULL THEN format_type(r.rngsubtype, -1)
            ELSE format_type(e.oid, -1) END,
       array(SELECT format_type(a.atttypid, a.atttypmod) FROM pg_attribute a
             WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
             ORDER BY a.attnum)
FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem
LEFT JOIN pg_range r ON t.oid IN (r.rngtypid, r.rngmultitypid) WHERE t.oid = to_regtype(%s)"""

_PLAIN = frozenset({"text", "json", "jsonb", "uuid", "boolean", "bytea"})
"""Types that are handled without the catalog."""


def is_exact_input(conn: Conn, value: sql.Composable, declared: str, *, takes_nan: bool = False) -> sql.Composed | None:
    """Return a condition on a text that is parsed as the type `declared`: true if no digit, character or part of it is
    lost. Return None if the type cannot lose anything. NULL counts as exact.

    `declared` must come from the catalog, with length and precision. `takes_nan` means that NaN is allowed in a number
    of fixed precision. May create a temporary type in the session.
    """
    if declared in _PLAIN:
        return None
    found = _Exact(conn, takes_nan).condition(value, declared)
    return found and sql.SQL("coalesce({}, true)").format(found)


@dataclass(frozen=True, slots=True)
class _Type:
    base: str
    name: str
    kind: str
    inner: str | None
    fields: list[str]


@dataclass(frozen=True, slots=True)
class _Exact:
    conn: Conn
    takes_nan: bool

    def condition(self, value: sql.Composable, declared: str, depth: int = 0) -> sql.Composed | None:
        found = self._look_up(declared)
        if found is None:
            return None
        handler = _KINDS.get(found.kind)
        return handler(self, value, declared, found, depth) if handler else None

    def _look_up(self, declared: str) -> _Type | None:
        row = self.conn.execute(_TYPE, [declared]).fetchone()
        return _Type(*row) if row else None

    def scalar(self, value: sql.Composable, declared: str, found: _Type, depth: int) -> sql.Composed | None:
        known = _SCALARS.get(found.name)
        if known is None:
            return None
        has_modifier = declared != found.base
        matches = _DECIMAL if found.name == "numeric" and has_modifier and not self.takes_nan else known.matches
        parts = _text_tests(value, matches, known.holds_no)
        given = sql.SQL("{}::{}").format(value, sql.SQL(found.base))
        if known.keeps is not None:
            parts.append(sql.SQL(known.keeps).format(value, given))
        if known.rounds and has_modifier:
            parts.append(sql.SQL("{} = {}::{}").format(given, value, sql.SQL(declared)))
        return _all(parts)

    def domain(self, value: sql.Composable, declared: str, found: _Type, depth: int) -> sql.Composed | None:
        return self.condition(value, str(found.inner), depth)

    def array(self, value: sql.Composable, declared: str, found: _Type, depth: int) -> sql.Composed | None:
        # The type modifier of an array belongs to its elements.
        element = declared.removesuffix("[]")
        row = f"_flow_{depth}"
        inner = self.condition(sql.Identifier(row, "v"), element, depth + 1)
        return inner and sql.SQL("(SELECT bool_and({}) FROM unnest({}::text[]) AS {}(v))").format(
            inner, value, sql.Identifier(row)
        )

    def composite(self, value: sql.Composable, declared: str, found: _Type, depth: int) -> sql.Composed | None:
        texts = sql.Identifier("pg_temp", f"flow_texts_{len(found.fields)}")
        parts = []
        for index, kind in enumerate(found.fields):
            field = sql.SQL("({}::{}).{}").format(value, texts, sql.Identifier(f"c{index}"))
            if part := self.condition(field, kind, depth):
                parts.append(sql.SQL("coalesce({}, true)").format(part))
        if parts:
            self._make_texts(texts, len(found.fields))
        return _all(parts)

    def range(self, value: sql.Composable, declared: str, found: _Type, depth: int) -> sql.Composed | None:
        bound = self._look_up(str(found.inner))
        known = _SCALARS.get(bound.name) if bound else None
        return _all(_text_tests(value, None, known.range_holds_no or known.holds_no)) if known else None

    def _make_texts(self, name: sql.Identifier, count: int) -> None:
        """Create a composite type of texts, which splits the text of any composite into its fields."""
        there = self.conn.execute("SELECT to_regtype(%s) IS NOT NULL", [name.as_string(self.conn)]).fetchone()
        if there == (True,):
            return
        fields = sql.SQL(", ").join(sql.SQL("{} text").format(sql.Identifier(f"c{n}")) for n in range(count))
        self.conn.execute(sql.SQL("CREATE TYPE {} AS ({})").format(name, fields))


_Handler = Callable[[_Exact, sql.Composable, str, _Type, int], "sql.Composed | None"]
_KINDS: dict[str, _Handler] = {
    "b": _Exact.scalar,
    "d": _Exact.domain,
    "array": _Exact.array,
    "c": _Exact.composite,
    "r": _Exact.range,
    "m": _Exact.range,
}
"""By `pg_type.typtype`. Enums and pseudo-types are absent because they accept only exact values."""


def _text_tests(value: sql.Composable, matches: str | None, holds_no: str | None) -> list[sql.Composed]:
    tests = []
    if matches is not None:
        tests.append(sql.SQL("{} ~ {}").format(value, sql.Literal(matches)))
    if holds_no is not None:
        tests.append(sql.SQL("{} !~ {}").format(value, sql.Literal(holds_no)))
    return tests


def _all(parts: list[sql.Composed]) -> sql.Composed | None:
    return sql.SQL("({})").format(sql.SQL(" AND ").join(parts)) if parts else None
