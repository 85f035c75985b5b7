"""Queries on PostgreSQL's catalogs whose results are statements. Each statement recreates one part of the table
`{oid}`.

The queries and their statements run under the search paths of `definition`. Comments are created in the statement of
their object.
"""

from __future__ import annotations

from typing import Any

from psycopg import Cursor, sql

from executors.postgres.ddl import Conn


def query_catalog(conn: Conn, query: sql.Composed) -> list[tuple[Any, ...]]:
    """Return the rows of a catalog query. The query is not recorded as a statement of the load, because it changes
    nothing."""
    return Cursor(conn).execute(query).fetchall()


def _comment(kind_and_name: str, oid: str, catalog: str) -> str:
    """Return SQL that evaluates to `; COMMENT ON … IS …` for an object, or to '' if it has no comment."""
    described = f"quote_literal(obj_description({oid}, '{catalog}'))"
    return f"coalesce('; COMMENT ON ' || {kind_and_name} || ' IS ' || {described}, '')"


def _options(array: str, prefix: str = "", where: str = "true") -> str:
    """Return SQL that evaluates to storage parameters for WITH and SET, or to NULL if there are none."""
    return (
        f"(SELECT string_agg(format('{prefix}%I=%L', o.option_name, o.option_value), ', ') "
        f"FROM pg_options_to_table({array}) o WHERE {where})"
    )


_STATE = "CASE {state} WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END"


def _state(state: str, kind: str, table: str, name: str) -> str:
    """Return SQL that evaluates to the statement for the state of a trigger or rule, or to '' for the default state."""
    action = _STATE.format(state=state)
    return f"CASE {state} WHEN 'O' THEN '' ELSE format('; ALTER TABLE %s %s {kind} %I', {table}, {action}, {name}) END"


_ROLE = "CASE {role} WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid({role})) END"

CREATE = f"""
SELECT format('SET LOCAL default_tablespace = %L; CREATE %s TABLE %I (LIKE %I.%I INCLUDING COMMENTS'
       ' INCLUDING COMPRESSION INCLUDING DEFAULTS INCLUDING GENERATED INCLUDING IDENTITY INCLUDING STORAGE) USING %I%s',
       coalesce(s.spcname, ''), CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED' ELSE '' END, c.relname, n.nspname,
       c.relname, m.amname,
       ' WITH (' || nullif(concat_ws(', ', {_options("c.reloptions")},
                                     {_options("o.reloptions", "toast.")}), '') || ')')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am m ON m.oid = c.relam
LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace LEFT JOIN pg_class o ON o.oid = c.reltoastrelid
WHERE c.oid = {{oid}}"""

# Some servers store a version of their own among the options of a column.
_COLUMN_OPTIONS = _options("a.attoptions", where="o.option_name LIKE 'n_distinct%'")

COLUMNS = f"""
SELECT format('ALTER TABLE %I ALTER COLUMN %I %s', c.relname, a.attname, x.change)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
CROSS JOIN LATERAL (VALUES ('SET STATISTICS ' || CASE WHEN a.attstattarget >= 0 THEN a.attstattarget END),
                           ('SET (' || {_COLUMN_OPTIONS} || ')')) AS x (change)
WHERE c.oid = {{oid}} AND x.change IS NOT NULL ORDER BY a.attnum, x.change"""

# LIKE copies constraints of kind n (PostgreSQL 18 and later) with the columns, but not their comments.
CHECKS = f"""
SELECT CASE k.contype WHEN 'c' THEN format('ALTER TABLE %I ADD CONSTRAINT %I %s', c.relname, k.conname,
                                           pg_get_constraintdef(k.oid)) ELSE '' END
       || {_comment("format('CONSTRAINT %I ON %I', k.conname, c.relname)", "k.oid", "pg_constraint")}
FROM pg_class c JOIN pg_constraint k ON k.conrelid = c.oid AND (k.contype = 'c'
     OR k.contype = 'n' AND obj_description(k.oid, 'pg_constraint') IS NOT NULL)
WHERE c.oid = {{oid}} ORDER BY k.conname"""

TRIGGERS = f"""
SELECT pg_get_triggerdef(g.oid, true) || {_state("g.tgenabled", "TRIGGER", "quote_ident(c.relname)", "g.tgname")}
       || {_comment("format('TRIGGER %I ON %I', g.tgname, c.relname)", "g.oid", "pg_trigger")}
FROM pg_class c JOIN pg_trigger g ON g.tgrelid = c.oid AND NOT g.tgisinternal
WHERE c.oid = {{oid}} ORDER BY g.tgname"""

POLICIES = f"""
SELECT format('CREATE POLICY %I ON %I AS %s FOR %s TO %s', p.polname, c.relname,
       CASE WHEN p.polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
       CASE p.polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE'
                     ELSE 'ALL' END,
       (SELECT string_agg({_ROLE.format(role="r")}, ', ') FROM unnest(p.polroles) AS r))
       || coalesce(' USING (' || pg_get_expr(p.polqual, p.polrelid) || ')', '')
       || coalesce(' WITH CHECK (' || pg_get_expr(p.polwithcheck, p.polrelid) || ')', '')
       || {_comment("format('POLICY %I ON %I', p.polname, c.relname)", "p.oid", "pg_policy")}
FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid WHERE c.oid = {{oid}} ORDER BY p.polname"""

ROW_SECURITY = """
SELECT format('ALTER TABLE %I %s ROW LEVEL SECURITY', c.relname, x.change)
FROM pg_class c CROSS JOIN (VALUES ('ENABLE'), ('FORCE')) AS x (change)
WHERE c.oid = {oid} AND CASE x.change WHEN 'ENABLE' THEN c.relrowsecurity ELSE c.relforcerowsecurity END
ORDER BY x.change"""

# In order of creation, because the planner takes the first of equally good indexes.
INDEXES = f"""
SELECT format('SET LOCAL default_tablespace = %L; ', coalesce(s.spcname, ''))
       || CASE WHEN k.oid IS NULL THEN pg_get_indexdef(i.indexrelid, 0, true)
               ELSE format('ALTER TABLE %I ADD CONSTRAINT %I %s', c.relname, k.conname, pg_get_constraintdef(k.oid))
               || coalesce(format('; ALTER INDEX %I SET (', x.relname) || {_options("x.reloptions")} || ')', '') END
       || coalesce((SELECT string_agg(format('; ALTER INDEX %I ALTER COLUMN %s SET STATISTICS %s', x.relname, a.attnum,
                                             a.attstattarget), '' ORDER BY a.attnum)
                    FROM pg_attribute a WHERE a.attrelid = x.oid AND a.attstattarget >= 0), '')
       || CASE WHEN i.indisclustered THEN format('; ALTER TABLE %I CLUSTER ON %I', c.relname, x.relname) ELSE '' END
       || CASE WHEN i.indisreplident THEN format('; ALTER TABLE %I REPLICA IDENTITY USING INDEX %I', c.relname,
                                                 x.relname) ELSE '' END
       || {_comment("format('INDEX %I', x.relname)", "x.oid", "pg_class")}
       || {
    _comment("'CONSTRAINT ' || quote_ident(k.conname) || ' ON ' || quote_ident(c.relname)", "k.oid", "pg_constraint")
}
FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid JOIN pg_class x ON x.oid = i.indexrelid
LEFT JOIN pg_tablespace s ON s.oid = x.reltablespace
LEFT JOIN pg_constraint k ON k.conindid = x.oid AND k.conrelid = c.oid AND k.contype IN ('p', 'u', 'x')
WHERE c.oid = {{oid}} ORDER BY x.oid"""

_KEY_COMMENT = _comment(
    "format('CONSTRAINT %I ON %s', k.conname, k.conrelid::pg_catalog.regclass)", "k.oid", "pg_constraint"
)

OWN_KEYS = f"""
SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.conrelid::pg_catalog.regclass, k.conname,
              pg_get_constraintdef(k.oid)) || {_KEY_COMMENT}
FROM pg_constraint k WHERE k.contype = 'f' AND k.conrelid = {{oid}} AND k.confrelid = {{oid}} AND k.conparentid = 0
ORDER BY k.conname"""

OUTBOUND = OWN_KEYS.replace("k.confrelid = {oid}", "k.confrelid <> {oid}")

INBOUND = f"""
SELECT format('ALTER TABLE %1$s DROP CONSTRAINT %2$I, ADD CONSTRAINT %2$I %3$s', k.conrelid::pg_catalog.regclass,
              k.conname, pg_get_constraintdef(k.oid)) || {_KEY_COMMENT}
FROM pg_constraint k WHERE k.contype = 'f' AND k.conrelid <> {{oid}} AND k.confrelid = {{oid}} AND k.conparentid = 0
ORDER BY k.conrelid, k.conname"""

STATISTICS = f"""
SELECT format('CREATE STATISTICS %I %s ON %s FROM %I; ALTER STATISTICS %I OWNER TO %I', x.stxname,
       (SELECT '(' || string_agg(CASE kind WHEN 'd' THEN 'ndistinct' WHEN 'f' THEN 'dependencies' ELSE 'mcv' END, ', ')
               || ')' FROM unnest(x.stxkind) AS kind WHERE kind <> 'e'),
       pg_get_statisticsobjdef_columns(x.oid), c.relname, x.stxname, pg_get_userbyid(x.stxowner))
       || CASE WHEN x.stxstattarget >= 0 THEN format('; ALTER STATISTICS %I SET STATISTICS %s', x.stxname,
                                                     x.stxstattarget) ELSE '' END
       || {_comment("format('STATISTICS %I', x.stxname)", "x.oid", "pg_statistic_ext")}
FROM pg_class c JOIN pg_statistic_ext x ON x.stxrelid = c.oid WHERE c.oid = {{oid}} ORDER BY x.oid"""

STATISTICS_NAMES = """
SELECT n.nspname, x.stxname FROM pg_statistic_ext x JOIN pg_namespace n ON n.oid = x.stxnamespace
WHERE x.stxrelid = {oid} ORDER BY x.oid"""

RULES = f"""
SELECT rtrim(pg_get_ruledef(r.oid, true), ';')
       || {_state("r.ev_enabled", "RULE", "quote_ident(c.relname)", "r.rulename")}
       || {_comment("format('RULE %I ON %I', r.rulename, c.relname)", "r.oid", "pg_rewrite")}
FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid WHERE c.oid = {{oid}} ORDER BY r.rulename"""

TABLE = """
SELECT x.change FROM pg_class c CROSS JOIN LATERAL (VALUES
    (CASE c.relreplident WHEN 'f' THEN format('ALTER TABLE %I REPLICA IDENTITY FULL', c.relname)
                         WHEN 'n' THEN format('ALTER TABLE %I REPLICA IDENTITY NOTHING', c.relname) END),
    (format('COMMENT ON TABLE %I IS ', c.relname) || quote_literal(obj_description(c.oid, 'pg_class')))
) AS x (change) WHERE c.oid = {oid} AND x.change IS NOT NULL ORDER BY x.change"""


def _grants(kind: str) -> str:
    """Return a query for the privileges on a relation and on its columns, with one statement for each role."""
    acl_kind = kind[0].lower().replace("t", "r")
    to = f"{_ROLE.format(role='a.grantee')}, CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END"
    privileges = "string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type)"
    return f"""
SELECT format('GRANT %s ON {kind} %I TO %s%s', {privileges}, c.relname, {to}) AS granted
FROM pg_class c CROSS JOIN aclexplode(coalesce(c.relacl, acldefault('{acl_kind}', c.relowner))) AS a
WHERE c.oid = {{oid}} GROUP BY c.relname, a.grantee, a.is_grantable
UNION ALL
SELECT format('GRANT %s ON {kind} %I TO %s%s', string_agg(format('%s (%I)', a.privilege_type, t.attname), ', '
              ORDER BY t.attname, a.privilege_type), c.relname, {to})
FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid AND NOT t.attisdropped CROSS JOIN aclexplode(t.attacl) AS a
WHERE c.oid = {{oid}} GROUP BY c.relname, a.grantee, a.is_grantable ORDER BY granted"""


GRANTS = {kind: _grants(kind) for kind in ("TABLE", "SEQUENCE")}

IDENTITIES = """
SELECT a.attname, s.relname, s.oid FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refobjid = {oid} AND d.refclassid = 'pg_class'::regclass AND d.classid = 'pg_class'::regclass
      AND d.deptype = 'i' ORDER BY a.attnum"""

# LIKE creates every sequence as a bigint.
SEQUENCE = f"""
SELECT format('ALTER SEQUENCE %I AS %s INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s %s CYCLE', s.relname,
              format_type(q.seqtypid, NULL), q.seqincrement, q.seqmin, q.seqmax, q.seqstart, q.seqcache,
              CASE WHEN q.seqcycle THEN '' ELSE 'NO' END)
       || {_comment("format('SEQUENCE %I', s.relname)", "s.oid", "pg_class")}
FROM pg_class s JOIN pg_sequence q ON q.seqrelid = s.oid WHERE s.oid = {{oid}}"""

SERIALS = """
SELECT a.attname, s.relname FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refobjid = {oid} AND d.refclassid = 'pg_class'::regclass AND d.classid = 'pg_class'::regclass
      AND d.deptype = 'a' ORDER BY s.relname"""

# The sequence of an identity column is dropped with the table.
_OWN = """SELECT {oid} UNION ALL SELECT i.objid FROM pg_depend i WHERE i.refobjid = {oid} AND i.deptype = 'i'
    AND i.refclassid = 'pg_class'::regclass AND i.classid = 'pg_class'::regclass"""

# Objects of other relations that are rewritten to use the new table: queries of views, and rules.
_REWRITES = f"""
WITH RECURSIVE rewrites (rule, relation, level) AS (
    SELECT r.oid, r.ev_class, 1 FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid AND r.ev_class <> {{oid}}
    WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid IN ({_OWN})
    UNION
    SELECT r.oid, r.ev_class, level + 1 FROM rewrites w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass
    AND d.refclassid = 'pg_class'::regclass AND d.refobjid = w.relation
    JOIN pg_rewrite r ON r.oid = d.objid AND r.ev_class <> w.relation WHERE level < 100
),
leveled AS (SELECT rule, relation, min(level) = 1 AS is_direct, max(level) AS level FROM rewrites GROUP BY 1, 2)"""

# Setting the existing owner again changes nothing and locks only this relation; LOCK would also lock the relations that
# a view reads.
VIEW_LOCKS = (
    _REWRITES
    + """
SELECT format('ALTER TABLE %I.%I OWNER TO %I', n.nspname, c.relname, pg_get_userbyid(c.relowner))
FROM leveled l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE l.is_direct GROUP BY n.nspname, c.relname, c.relowner ORDER BY max(l.level) DESC, n.nspname, c.relname"""
)

CHILD_LOCKS = """
SELECT DISTINCT format('LOCK TABLE %I.%I IN ACCESS EXCLUSIVE MODE', n.nspname, c.relname) AS lock
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND k.conrelid <> {oid} AND k.confrelid = {oid} AND k.conparentid = 0 ORDER BY lock"""

TABLE_LOCK = """
SELECT format('LOCK TABLE %I.%I IN ACCESS EXCLUSIVE MODE', n.nspname, c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = {oid}"""

# A key that refers to a partitioned table has a part for each partition, which is created and dropped with it. Dropping
# a table locks the tables that it refers to, without a statement of its own; its sequences are not dropped.
RELEASE = """
SELECT format('ALTER TABLE %I.%I DROP CONSTRAINT %I', n.nspname, c.relname, k.conname) AS release
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND k.conrelid = {oid} AND k.confrelid <> {oid} AND k.conparentid = 0
UNION ALL
SELECT format('ALTER SEQUENCE %I.%I OWNED BY NONE', n.nspname, s.relname)
FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S' JOIN pg_namespace n ON n.oid = s.relnamespace
WHERE d.refobjid = {oid} AND d.refclassid = 'pg_class'::regclass AND d.classid = 'pg_class'::regclass
      AND d.deptype = 'a' ORDER BY release DESC"""

# Replaced in place, so that a view keeps its owner, privileges, comments, triggers and dependents.
VIEWS = f"""
SELECT format('CREATE OR REPLACE VIEW %I.%I%s AS %s', n.nspname, c.relname,
              ' WITH (' || {_options("c.reloptions")} || ')', pg_get_viewdef(c.oid))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'v' AND EXISTS (
    SELECT FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
    WHERE r.ev_class = c.oid AND r.rulename = '_RETURN' AND d.refclassid = 'pg_class'::regclass
          AND d.refobjid IN ({_OWN})) ORDER BY n.nspname, c.relname"""

OTHER_RULES = f"""
SELECT regexp_replace(rtrim(pg_get_ruledef(r.oid), ';'), '^CREATE RULE', 'CREATE OR REPLACE RULE')
FROM pg_rewrite r WHERE r.ev_class <> {{oid}} AND r.rulename <> '_RETURN' AND EXISTS (
    SELECT FROM pg_depend d WHERE d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
    AND d.refclassid = 'pg_class'::regclass AND d.refobjid IN ({_OWN})) ORDER BY r.ev_class, r.rulename"""
