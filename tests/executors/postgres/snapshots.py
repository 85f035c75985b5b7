"""The content of PostgreSQL's catalogs for a schema, by names only, so that two snapshots can be compared."""

from __future__ import annotations

from collections import Counter
from typing import Any

import psycopg

_ACL = "(SELECT array_agg(concat_ws(' ', a.grantee::regrole, a.privilege_type, a.is_grantable, a.grantor::regrole)"

_SECTIONS = {
    "relations": f"""
        SELECT c.relname, c.relkind, c.relowner::regrole::text, c.reloptions, t.reloptions, c.relpersistence,
               c.relreplident, c.relrowsecurity, c.relforcerowsecurity, m.amname, s.spcname, c.relhastriggers,
               obj_description(c.oid, 'pg_class'),
               {_ACL} ORDER BY 1) FROM aclexplode(coalesce(c.relacl, acldefault(
                   CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, c.relowner))) a)::text
        FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid LEFT JOIN pg_am m ON m.oid = c.relam
        LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace WHERE c.relnamespace = %(schema)s::regnamespace""",
    "columns": f"""
        SELECT c.relname, a.attname, row_number() OVER (PARTITION BY c.oid ORDER BY a.attnum), a.attnotnull,
               format_type(a.atttypid, a.atttypmod), pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated,
               a.attstorage, a.attcompression, coalesce(a.attstattarget, -1),
               (SELECT array_agg(o) FROM unnest(a.attoptions) o WHERE o LIKE 'n_distinct%%'),
               a.attcollation::regcollation::text, col_description(c.oid, a.attnum),
               {_ACL} ORDER BY 1) FROM aclexplode(a.attacl) a)::text
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = %(schema)s::regnamespace""",
    "constraints": """
        SELECT k.conrelid::regclass::text, k.conname, k.contype, pg_get_constraintdef(k.oid), k.convalidated,
               k.conindid::regclass::text, obj_description(k.oid, 'pg_constraint')
        FROM pg_constraint k WHERE k.connamespace = %(schema)s::regnamespace""",
    "indexes": """
        SELECT pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisready, i.indislive, i.indisprimary, i.indisunique,
               i.indimmediate, i.indisclustered, i.indisreplident
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = %(schema)s::regnamespace""",
    "triggers": """
        SELECT pg_get_triggerdef(g.oid), g.tgenabled, obj_description(g.oid, 'pg_trigger')
        FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid
        WHERE NOT g.tgisinternal AND c.relnamespace = %(schema)s::regnamespace""",
    "policies": """
        SELECT c.relname, p.polname, p.polcmd, p.polpermissive, p.polroles::regrole[]::text,
               pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid),
               obj_description(p.oid, 'pg_policy')
        FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = %(schema)s::regnamespace""",
    "rules": """
        SELECT pg_get_ruledef(r.oid), r.ev_enabled, obj_description(r.oid, 'pg_rewrite')
        FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE c.relnamespace = %(schema)s::regnamespace""",
    "statistics": """
        SELECT pg_get_statisticsobjdef(x.oid), x.stxowner::regrole::text, coalesce(x.stxstattarget, -1),
               obj_description(x.oid, 'pg_statistic_ext')
        FROM pg_statistic_ext x WHERE x.stxnamespace = %(schema)s::regnamespace""",
    "sequences": """
        SELECT s.schemaname, s.sequencename, s.sequenceowner, s.data_type::text, s.start_value, s.min_value,
               s.max_value, s.increment_by, s.cycle, s.cache_size
        FROM pg_sequences s WHERE s.schemaname = %(schema)s""",
    "sequence owners": """
        SELECT s.relname, d.refobjid::regclass::text, a.attname, d.deptype
        FROM pg_class s JOIN pg_depend d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass
        AND d.refclassid = 'pg_class'::regclass AND d.deptype IN ('a', 'i')
        JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        WHERE s.relkind = 'S' AND s.relnamespace = %(schema)s::regnamespace""",
    "schemas": "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'flow%%new%%' OR nspname = %(schema)s",
}


Snapshot = Counter[tuple[Any, ...]]


def snapshot(conn: psycopg.Connection, schema: str) -> Snapshot:
    """Return the relations of the schema with all their parts, and any schema that a load may have left."""
    return Counter(
        (section, *map(str, row))
        for section, query in _SECTIONS.items()
        for row in conn.execute(query, {"schema": schema})
    )


def changes(before: Snapshot, after: Snapshot) -> dict[str, list[tuple[Any, ...]]]:
    """Return the removed and the added entries."""
    found = {"gone": list((before - after).elements()), "new": list((after - before).elements())}
    return {what: rows for what, rows in found.items() if rows}
