"""Write the lists of functions and system tables that queries of users may use: `ir/postgres_functions.txt` and
`ir/postgres_relations.txt`.

    python tools/postgres_allowed.py postgresql://USER@HOST:PORT/DATABASE …

Give one URL for each PostgreSQL version that Flow supports, of new servers without extensions and functions of their
own. A name is listed if it passes on every server that has it, with every overload. Review the difference before you
commit it: a function that is marked as stable can still read anything.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import psycopg

IR = Path(__file__).resolve().parent.parent / "ir"

FUNCTIONS = """
SELECT p.proname, bool_and(
  p.oid < 16384 AND p.prokind IN ('f', 'a', 'w') AND p.provolatile IN ('i', 's') AND l.lanname IN ('internal', 'sql')
  AND NOT EXISTS (
    SELECT FROM pg_type t WHERE t.oid = ANY (p.proargtypes || p.prorettype) AND t.typname IN (
      'internal', 'cstring', 'void', 'trigger', 'event_trigger', 'language_handler', 'fdw_handler', 'tsm_handler',
      'index_am_handler', 'table_am_handler', 'refcursor', 'pg_ddl_command')))
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = 'pg_catalog'::regnamespace GROUP BY p.proname
"""
"""Volatile functions write, wait, lock or return different results each time; the types are those of functions that no
query calls."""

REFUSED = re.compile(
    r"pg_.*|lo_.*|lo(read|write)|binary_upgrade_.*|acl.*|makeaclitem|has_.*_privilege|inet_(client|server)_.*|txid_.*"
    r"|.*_to_xml(schema|_and_xmlschema)?|ts_(stat|rewrite)|current_(setting|query)|row_security_active|satisfies_.*"
    r"|.*_validator|getpgusername|.*(_accum|_accum_inv|_combine|_transfn|_statefunc|typmodin|send)"
    r"|(bt(?!rim)|gin_|gist_|spg_|brin_).*"
)
"""Reads settings, sessions, files or tables by name, runs SQL from its arguments, or is a part of an aggregate, type or
index that no query calls."""

HARMLESS = {"pg_collation_for", "pg_column_size", "pg_input_is_valid", "pg_size_bytes", "pg_size_pretty", "pg_typeof"}

RELATIONS = """
SELECT relname, relkind = 'r' FROM pg_class
WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind IN ('r', 'v') AND oid < 16384
"""
VIEWS = {
    "pg_group",
    "pg_indexes",
    "pg_matviews",
    "pg_policies",
    "pg_roles",
    "pg_rules",
    "pg_tables",
    "pg_user",
    "pg_views",
}
"""Views over system tables only. Other views call functions that show sessions, settings and files."""
PRIVATE = re.compile(
    r"pg_authid|pg_db_role_setting|pg_largeobject.*|pg_statistic|pg_statistic_ext_data|pg_subscription|pg_user_mapping"
)
"""Tables that contain passwords, settings, or values of other tables."""


def may_call(name: str, passes: bool) -> bool:
    return name in HARMLESS or (passes and not REFUSED.fullmatch(name))


def may_read(name: str, is_table: bool) -> bool:
    return name in VIEWS or (is_table and not PRIVATE.fullmatch(name))


def list_functions(servers: Iterable[psycopg.Connection]) -> list[str]:
    return _on_all(servers, FUNCTIONS, may_call)


def list_relations(servers: Iterable[psycopg.Connection]) -> list[str]:
    return _on_all(servers, RELATIONS, may_read)


def _on_all(servers: Iterable[psycopg.Connection], query: str, passes: Callable[[str, bool], bool]) -> list[str]:
    found: dict[str, bool] = {}
    for server in servers:
        for name, flag in server.execute(query).fetchall():
            found[name] = found.get(name, True) and passes(name, flag)
    return sorted(name for name, is_listed in found.items() if is_listed)


def main(urls: list[str]) -> None:
    servers = [psycopg.connect(url) for url in urls]
    versions = " and ".join(str(server.info.server_version // 10_000) for server in servers)
    for name, what, names in (
        ("postgres_functions.txt", "functions", list_functions(servers)),
        ("postgres_relations.txt", "system tables", list_relations(servers)),
    ):
        head = f"# The {what} of PostgreSQL that queries of people may use; tools/postgres_allowed.py made it from\n"
        head += f"# the catalogs of PostgreSQL {versions}. What is not listed is refused.\n"
        (IR / name).write_text(head + "".join(f"{entry}\n" for entry in names))


if __name__ == "__main__":
    main(sys.argv[1:])
