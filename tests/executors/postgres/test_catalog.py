"""The tables and columns that a connection offers."""

from __future__ import annotations

from dataclasses import replace

from executors.postgres.client import connect
from executors.target_database import TableName, list_columns, list_tables
from tests.roles import new_role


def test_tables_and_views_are_offered_with_their_columns(warehouse, schema):
    with connect(warehouse, autocommit=True) as conn:
        conn.execute(f'CREATE TABLE {schema}."Odd name" (id int, "A b" text, gone int)')
        conn.execute(f'ALTER TABLE {schema}."Odd name" DROP COLUMN gone')
        conn.execute(f'CREATE VIEW {schema}.v AS SELECT id FROM {schema}."Odd name"')
        conn.execute(f"CREATE TABLE {schema}.parts (id int) PARTITION BY RANGE (id)")
        conn.execute(f"CREATE TABLE {schema}.part PARTITION OF {schema}.parts DEFAULT")
    found = list_tables(warehouse, 100, timeout=5)
    assert [table.table for table in found if table.schema == schema] == ["Odd name", "parts", "v"]
    assert not {"pg_catalog", "information_schema", "flow_meta", "flow_staging"} & {table.schema for table in found}
    assert list_columns(warehouse, TableName(schema, "Odd name"), timeout=5) == ["id", "A b"]
    assert list_columns(warehouse, TableName(schema, "nothing"), timeout=5) == []


def test_what_the_role_cannot_read_is_not_offered(warehouse, server, schema):
    with connect(warehouse, autocommit=True) as conn, connect(server, autocommit=True) as admin:
        conn.execute(f"CREATE TABLE {schema}.t (id int, secret text)")
        with new_role(admin, f"r_{schema}", "password"):
            other = replace(warehouse, user=f"r_{schema}", password="password")
            table = TableName(schema, "t")
            assert table not in list_tables(other, 100, timeout=5)
            conn.execute(f"GRANT USAGE ON SCHEMA {schema} TO r_{schema}")
            conn.execute(f"GRANT SELECT ON {schema}.t TO r_{schema}")
            assert table in list_tables(other, 100, timeout=5)
            assert list_columns(other, table, timeout=5) == ["id", "secret"]
            conn.execute(f"REVOKE ALL ON SCHEMA {schema} FROM r_{schema}")
            conn.execute(f"REVOKE ALL ON {schema}.t FROM r_{schema}")
