"""Finds obstacles to replacing a table's rows by a swap, and by DELETE and INSERT. Each obstacle is a short
description.

Every object in the database that depends on the table and that the swap does not carry over counts as an obstacle.
"""

from __future__ import annotations

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.postgres.load_modes.blue_green.catalog import query_catalog
from executors.postgres.names import identifier_of
from executors.table_name import TableName
from ir.destinations import Replacing

# `own` are the parts of the table, which are recreated or dropped with it; `users` are all other objects that depend on
# them.
_KNOWN = """
WITH t AS (SELECT c.* FROM pg_class c WHERE c.oid = {oid}),
own (classid, objid) AS (
    SELECT 'pg_class'::regclass::oid, t.oid FROM t
    UNION ALL SELECT 'pg_class'::regclass, s.oid FROM t JOIN pg_depend d ON d.refobjid = t.oid AND d.deptype = 'i'
        AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
        JOIN pg_class s ON s.oid = d.objid AND s.relkind IN ('S', 't')
    UNION ALL SELECT 'pg_class'::regclass, i.indexrelid FROM t JOIN pg_index i ON i.indrelid = t.oid
    UNION ALL SELECT 'pg_type'::regclass, y.oid FROM t JOIN pg_type y ON t.reltype IN (y.oid, y.typelem)
        AND (y.oid = t.reltype OR y.typcategory = 'A')
    UNION ALL SELECT 'pg_constraint'::regclass, k.oid FROM t JOIN pg_constraint k ON k.conrelid = t.oid
    UNION ALL SELECT 'pg_trigger'::regclass, g.oid FROM t JOIN pg_trigger g ON g.tgrelid = t.oid
    UNION ALL SELECT 'pg_attrdef'::regclass, a.oid FROM t JOIN pg_attrdef a ON a.adrelid = t.oid
    UNION ALL SELECT 'pg_policy'::regclass, p.oid FROM t JOIN pg_policy p ON p.polrelid = t.oid
    UNION ALL SELECT 'pg_rewrite'::regclass, r.oid FROM t JOIN pg_rewrite r ON r.ev_class = t.oid
    UNION ALL SELECT 'pg_statistic_ext'::regclass, x.oid FROM t JOIN pg_statistic_ext x ON x.stxrelid = t.oid
),
users AS (
    SELECT d.classid, d.objid, max(d.objsubid) AS objsubid, bool_or(o.classid = 'pg_type'::regclass) AS by_type
    FROM pg_depend d JOIN own o ON o.classid = d.refclassid AND o.objid = d.refobjid
    WHERE (d.classid, d.objid) NOT IN (SELECT classid, objid FROM own) GROUP BY d.classid, d.objid
),
rewrites AS (
    SELECT u.objid, u.by_type, r.rulename = '_RETURN' AS is_view, c.*
    FROM users u JOIN pg_rewrite r ON u.classid = 'pg_rewrite'::regclass AND r.oid = u.objid
    JOIN pg_class c ON c.oid = r.ev_class
),
referring AS (
    SELECT k.*, c.relowner, n.nspname, c.relname
    FROM t JOIN pg_constraint k ON k.confrelid = t.oid AND k.conrelid <> t.oid AND k.contype = 'f'
    JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
),
acls AS (
    SELECT t.relowner, a.* FROM t CROSS JOIN aclexplode(t.relacl) a
    UNION ALL SELECT t.relowner, a.* FROM t JOIN pg_attribute c ON c.attrelid = t.oid CROSS JOIN aclexplode(c.attacl) a
    UNION ALL SELECT t.relowner, a.* FROM t CROSS JOIN own JOIN pg_class s ON s.oid = own.objid AND s.relkind = 'S'
        AND own.classid = 'pg_class'::regclass CROSS JOIN aclexplode(s.relacl) a
),
publications AS (
    SELECT p.* FROM t JOIN pg_publication p ON p.puballtables
        OR EXISTS (SELECT FROM pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = t.oid)
        OR EXISTS (SELECT FROM pg_publication_namespace s WHERE s.pnpubid = p.oid AND s.pnnspid = t.relnamespace)
)"""

_AGAINST_BOTH = (
    "SELECT 'the table is partitioned' FROM t WHERE relkind = 'p'",
    "SELECT 'it inherits from ' || i.inhparent::regclass FROM t JOIN pg_inherits i ON i.inhrelid = t.oid",
    "SELECT i.inhrelid::regclass || ' inherits from it' FROM t JOIN pg_inherits i ON i.inhparent = t.oid"
    " WHERE t.relkind <> 'p'",
)

_AGAINST_SWAP = (
    *_AGAINST_BOTH,
    "SELECT format('the table belongs to %I, whose rights the connection''s user lacks', pg_get_userbyid(relowner))"
    " FROM t WHERE NOT (pg_has_role(relowner, 'USAGE') AND CASE"
    # Before PostgreSQL 16 every member of a role may make it the owner of objects.
    " WHEN current_setting('server_version_num')::int < 160000 THEN pg_has_role(relowner, 'MEMBER')"
    " ELSE pg_has_role(relowner, 'SET') END)",
    "SELECT 'the connection''s user may not create schemas in this database'"
    " WHERE NOT has_database_privilege(current_database(), 'CREATE')",
    "SELECT format('the connection''s user may not create tables in schema %s', relnamespace::regnamespace)"
    " FROM t WHERE NOT has_schema_privilege(relnamespace, 'CREATE')",
    "SELECT format('it is a table of type %s', reloftype::regtype) FROM t WHERE reloftype <> 0",
    "SELECT format('publication %I', pubname) FROM publications",
    "SELECT 'a subscription fills it' FROM t JOIN pg_subscription_rel s ON s.srrelid = t.oid",
    # Views in temporary schemas of other sessions cannot be replaced.
    "SELECT CASE WHEN relkind = 'm' OR by_type OR relpersistence = 't' THEN pg_describe_object(kind, r.oid, 0)"
    " WHEN NOT pg_has_role(relowner, 'USAGE')"
    " THEN format('%s, which belongs to %I', pg_describe_object(kind, r.oid, 0), pg_get_userbyid(relowner))"
    " ELSE format('%s, in a schema where the connection''s user may not create',"
    " pg_describe_object(kind, r.oid, 0)) END FROM rewrites r CROSS JOIN (SELECT 'pg_class'::regclass) AS k (kind)"
    " WHERE relkind = 'm' OR by_type OR relpersistence = 't' OR NOT pg_has_role(relowner, 'USAGE')"
    " OR (is_view AND NOT has_schema_privilege(relnamespace, 'CREATE'))",
    "SELECT format('foreign key %I of %I.%I, which belongs to %I', conname, nspname, relname,"
    " pg_get_userbyid(relowner)) FROM referring WHERE conparentid = 0 AND NOT pg_has_role(relowner, 'USAGE')",
    "SELECT pg_describe_object(u.classid, u.objid, u.objsubid) FROM users u LEFT JOIN pg_class c"
    " ON u.classid = 'pg_class'::regclass AND c.oid = u.objid WHERE u.classid <> 'pg_rewrite'::regclass"
    " AND u.classid <> 'pg_publication_rel'::regclass AND coalesce(c.relkind, '-') NOT IN ('S', 'i')"
    " AND NOT EXISTS (SELECT FROM pg_trigger g WHERE u.classid = 'pg_trigger'::regclass AND g.oid = u.objid"
    " AND g.tgisinternal)"
    " AND NOT (u.classid = 'pg_constraint'::regclass AND u.objid IN (SELECT oid FROM referring))",
    "SELECT format('extension %I', e.extname) FROM own JOIN pg_depend d ON d.classid = own.classid"
    " AND d.objid = own.objid AND d.deptype IN ('e', 'x') JOIN pg_extension e ON d.refclassid ="
    " 'pg_extension'::regclass AND e.oid = d.refobjid",
    "SELECT DISTINCT format('security labels of %s', l.provider) FROM own JOIN pg_seclabel l"
    " ON l.classoid = own.classid AND l.objoid = own.objid",
    "SELECT format('index %s, which is not valid', i.indexrelid::regclass) FROM t JOIN pg_index i"
    " ON i.indrelid = t.oid WHERE NOT (i.indisvalid AND i.indisready)",
    # It would run while the table still has the old rows. BEFORE ROW triggers only see and change one row.
    "SELECT format('trigger %I, which runs after rows are inserted', g.tgname) FROM t JOIN pg_trigger g"
    " ON g.tgrelid = t.oid WHERE NOT g.tgisinternal AND g.tgenabled IN ('O', 'A') AND g.tgtype & 4 = 4"
    " AND g.tgtype & 3 <> 3",
    "SELECT DISTINCT format('triggers of foreign key %I, which are disabled', k.conname) FROM t JOIN pg_trigger g"
    " ON t.oid IN (g.tgrelid, g.tgconstrrelid) JOIN pg_constraint k ON k.oid = g.tgconstraint AND k.contype = 'f'"
    " WHERE g.tgisinternal AND g.tgenabled <> 'O'",
    "SELECT DISTINCT format('privileges that %I granted, who does not own the table', pg_get_userbyid(grantor))"
    " FROM acls WHERE grantor <> relowner",
    "SELECT format('statistics %I, which belong to %I', x.stxname, pg_get_userbyid(x.stxowner)) FROM t"
    " JOIN pg_statistic_ext x ON x.stxrelid = t.oid WHERE x.stxowner <> t.relowner",
)

_AGAINST_DELETE = (
    *_AGAINST_BOTH,
    # An unenforced foreign key (PostgreSQL 18 and later) has no triggers.
    "SELECT format('foreign key %I of %I.%I, which %s', conname, nspname, relname, CASE confdeltype"
    " WHEN 'a' THEN 'is not deferrable' WHEN 'r' THEN 'restricts deletes' WHEN 'c' THEN 'deletes its rows'"
    " ELSE 'changes its rows' END) FROM referring r WHERE conparentid = 0 AND (confdeltype <> 'a' OR NOT condeferrable)"
    " AND coalesce((to_jsonb(r)->>'conenforced')::boolean, true)",
    "SELECT 'row-level security hides rows from the connection''s user' FROM t WHERE row_security_active(t.oid)",
    "SELECT format('publication %I, for which the table has no replica identity', p.pubname)"
    " FROM t CROSS JOIN publications p WHERE p.pubdelete AND (t.relreplident = 'n' OR t.relreplident = 'd'"
    " AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = t.oid AND i.indisprimary))",
    "SELECT format('rule %I, which replaces %s', r.rulename, CASE r.ev_type WHEN '3' THEN 'INSERT'"
    " ELSE 'DELETE' END) FROM t JOIN pg_rewrite r ON r.ev_class = t.oid WHERE r.is_instead"
    " AND r.ev_type IN ('3', '4') AND r.ev_enabled IN ('O', 'A')",
)


def find_obstacles(conn: Conn, table: TableName) -> Replacing:
    """Return the obstacles to each strategy, in the open transaction. Raises if the table does not exist."""
    oid = sql.SQL("{}::regclass::oid").format(sql.Literal(identifier_of(table).as_string(conn)))
    return Replacing(_list(conn, oid, _AGAINST_SWAP), _list(conn, oid, _AGAINST_DELETE))


def _list(conn: Conn, oid: sql.Composed, queries: tuple[str, ...]) -> tuple[str, ...]:
    found = sql.SQL("{} SELECT DISTINCT what FROM ({}) AS o (what) ORDER BY what").format(
        sql.SQL(_KNOWN).format(oid=oid), sql.SQL(" UNION ALL ").join(map(sql.SQL, queries))
    )
    return tuple(what for (what,) in query_catalog(conn, found))
