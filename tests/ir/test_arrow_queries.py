"""The guard of queries for databases with an Arrow driver."""

from __future__ import annotations

from typing import cast

import pytest

from ir.arrow_queries import ArrowGrammar, read_query
from ir.connectors import CONNECTORS
from ir.connectors.arrow_database import ArrowDatabaseConfig
from ir.queries import QueryRefused

SYSTEMS = ("sqlserver", "oracle", "snowflake", "bigquery")

ALLOWED = [
    ("sqlserver", "SELECT TOP 5 [o].[id], ISNULL(note, N'-'), CONVERT(varchar(10), at, 23) FROM dbo.orders AS o;"),
    ("sqlserver", "SELECT c.name, STRING_AGG(o.note, ',') WITHIN GROUP (ORDER BY o.id) AS notes FROM a.b.c c "
     "JOIN o ON o.id = c.id GROUP BY c.name"),
    ("sqlserver", "SELECT IIF(a = 1, 'x', 'y') AS z, DATEADD(day, 1, at) AS later, TRY_CAST(b AS int) AS n FROM t"),
    ("oracle", "SELECT NVL(note, '-'), TO_CHAR(at, 'YYYY'), DECODE(kind, 1, 'a', 'b'), SYSDATE FROM sales.orders"),
    ("oracle", "WITH x AS (SELECT LISTAGG(a, ',') WITHIN GROUP (ORDER BY a) AS l FROM t) SELECT l FROM x"),
    ("oracle", "SELECT DATE '2024-01-01', MOD(a, 2), a || b FROM t WHERE ROWNUM < 5"),
    ("snowflake", "SELECT a:b.c::int AS n, IFF(x, 1, 2), DATEADD(day, 1, at) FROM db.sales.orders "
     "QUALIFY ROW_NUMBER() OVER (PARTITION BY id ORDER BY at DESC) = 1"),
    ("snowflake", "SELECT f.value FROM t, LATERAL FLATTEN(input => a) f"),
    ("bigquery", "SELECT SAFE_CAST(a AS INT64), COUNTIF(b), FORMAT_DATE('%F', d) FROM `acme-sales.shop.orders`"),
    ("bigquery", "SELECT * EXCEPT (a) FROM shop.orders, UNNEST(items) AS item"),
]  # fmt: skip

REFUSED_EVERYWHERE = [
    "DELETE FROM t",
    "UPDATE t SET a = 1",
    "INSERT INTO t (a) SELECT 1",
    "DROP TABLE t",
    "CREATE TABLE u AS SELECT a FROM t",
    "TRUNCATE TABLE t",
    "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE",
    "SELECT a FROM t; DELETE FROM t",
    "SELECT a FROM t; SELECT b FROM t",
    "SELECT a FROM t -- comment",
    "SELECT /* comment */ a FROM t",
    "SELECT write_all(a) FROM t",
    "SELECT pkg.write_all(a) FROM t",
    "SELECT a FROM TABLE(write_all())",
    "SELECT s.NEXTVAL FROM t",
    "CALL write_all()",
    "EXECUTE IMMEDIATE 'DROP TABLE t'",
    "BEGIN DELETE FROM t; END",
    "WITH x AS (DELETE FROM t) SELECT 1",
    "GRANT SELECT ON t TO u",
    "SELECT a FROM",
    "",
]

REFUSED = [
    ("sqlserver", "SELECT a INTO u FROM t"),
    ("sqlserver", "SELECT a FROM t DELETE FROM u"),
    ("sqlserver", "EXEC sp_who"),
    ("sqlserver", "SELECT NEXT VALUE FOR s"),
    ("sqlserver", "SELECT @x = 1"),
    ("sqlserver", "SELECT @@VERSION"),
    ("sqlserver", "SELECT * FROM OPENROWSET('a', 'b', 'c')"),
    ("sqlserver", "SELECT * FROM OPENQUERY(other, 'DELETE t')"),
    ("sqlserver", "SELECT a FROM t WITH (NOLOCK)"),
    ("sqlserver", "SELECT a FROM t WITH (TABLOCKX)"),
    ("sqlserver", "SELECT a FROM t OPTION (MAXDOP 1)"),
    ("sqlserver", "WITH x AS (SELECT 1 AS a) SELECT a FROM x"),
    ("oracle", "SELECT a FROM t FOR UPDATE"),
    ("oracle", "SELECT a FROM t@other"),
    ("oracle", "SELECT :x FROM dual"),
    ("oracle", "SELECT /*+ FULL(t) */ a FROM t"),
    ("oracle", "SELECT utl_http.request('http://x') FROM dual"),
    ("oracle", "WITH FUNCTION f RETURN NUMBER IS BEGIN RETURN 1; END; SELECT f FROM dual"),
    ("snowflake", "SELECT $1 FROM @stage/file"),
    ("snowflake", "SELECT * FROM @stage"),
    ("snowflake", "SELECT SYSTEM$WAIT(5)"),
    ("snowflake", "SELECT * FROM IDENTIFIER('t')"),
    ("snowflake", "SELECT a FROM t // comment"),
    ("snowflake", "SELECT $variable"),
    ("snowflake", "COPY INTO @stage FROM t"),
    ("snowflake", "SELECT 1 ->> SELECT 2"),
    ("bigquery", "SELECT * FROM EXTERNAL_QUERY('c', 'DELETE FROM t')"),
    ("bigquery", "SELECT * FROM ML.PREDICT(MODEL m, TABLE t)"),
    ("bigquery", "SELECT @x"),
    ("bigquery", "SELECT @@project_id"),
    ("bigquery", "SELECT a FROM t # comment"),
    ("bigquery", "EXPORT DATA OPTIONS(uri='gs://x') AS SELECT 1"),
    ("bigquery", "CREATE TEMP FUNCTION f() AS (1); SELECT f()"),
    ("bigquery", "SELECT AI.GENERATE('x')"),
]


def grammar_of(system: str) -> ArrowGrammar:
    return cast(type[ArrowDatabaseConfig], CONNECTORS[system].config).grammar


@pytest.mark.parametrize(("system", "query"), ALLOWED)
def test_a_query_is_sent_as_it_was_written(system: str, query: str) -> None:
    assert read_query(f" {query}\n", grammar_of(system)) == query.rstrip(";")


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("query", REFUSED_EVERYWHERE)
def test_what_is_not_one_select_is_refused(system: str, query: str) -> None:
    with pytest.raises(QueryRefused):
        read_query(query, grammar_of(system))


@pytest.mark.parametrize(("system", "query"), REFUSED)
def test_what_a_system_could_do_in_a_select_is_refused(system: str, query: str) -> None:
    with pytest.raises(QueryRefused):
        read_query(query, grammar_of(system))
