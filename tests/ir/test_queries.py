"""Queries of users: forbidden parts are refused in every position."""

from __future__ import annotations

import pytest

from ir.pointers import ROOT
from ir.queries import QueryRefused, check_query, read_query

REFUSED = (
    "DELETE FROM public.t",
    "WITH d AS (DELETE FROM public.t RETURNING 1) SELECT * FROM d",
    "SELECT 1; DELETE FROM public.t",
    "SELECT 1 FROM public.t FOR UPDATE",
    "SELECT 1 INTO public.made",
    "CREATE TABLE public.made AS SELECT 1",
    "COPY public.t TO PROGRAM 'touch /tmp/x'",
    "DO $$ BEGIN DELETE FROM public.t; END $$",
    "CALL public.p()",
    "EXPLAIN ANALYZE DELETE FROM public.t",
    "SET ROLE postgres",
    "SELECT set_config('search_path', 'evil', false)",
    "SELECT pg_catalog.set_config('role', 'x', false)",
    "SELECT pg_sleep(1000)",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_terminate_backend(1)",
    "SELECT lo_import('/etc/passwd')",
    "SELECT nextval('public.s')",
    "SELECT dblink('', 'DELETE FROM public.t')",
    "SELECT query_to_xml('DELETE FROM public.t', true, true, '')",
    "SELECT * FROM dblink('', 'SELECT 1') AS t(a integer)",
    "SELECT * FROM crosstab('COPY (SELECT 1) TO PROGRAM ''touch /tmp/x''') AS t(a text)",
    "SELECT pg_catalog.\"query_to_xml\"('DELETE FROM public.t', true, true, '')",
    "SELECT QUERY_TO_XML('DELETE FROM public.t', true, true, '')",
    "SELECT a.pg_catalog.query_to_xml('DELETE FROM public.t', true, true, '')",
    "SELECT 1 ORDER BY query_to_xml('DELETE FROM public.t', true, true, '')::text",
    "SELECT 1 FROM (VALUES (1)) AS v(a) WHERE a IN (SELECT lo_import('/etc/passwd')::integer)",
    "WITH x AS (SELECT table_to_xml('public.t', true, true, '')) SELECT * FROM x",
    "SELECT query_to_xml_and_xmlschema('SELECT 1', true, true, ''), database_to_xml(true, true, '')",
    "SELECT * FROM ts_stat('SELECT 1')",
    "SELECT ts_rewrite('a'::tsquery, 'SELECT 1')",
    "SELECT count(*) FILTER (WHERE pg_sleep(1) IS NULL)",
    "SELECT ('/etc/passwd'::text).pg_read_file",
    "SELECT (x.a).pg_ls_dir FROM (VALUES ('/'::text)) AS x(a)",
    "SELECT (array['/etc/passwd'])[1].pg_read_file",
    "SELECT pg_ls_dir('/'), pg_stat_file('/etc/passwd')",
    "SELECT current_setting('data_directory')",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_notify('a', 'b')",
    "SELECT inet_server_addr()",
    "SELECT pg_export_snapshot()",
    "SELECT has_table_privilege('public.t', 'SELECT')",
    "SELECT a_function_of_postgresql_99(1)",
    "SELECT * FROM public.t TABLESAMPLE public.mine (1) REPEATABLE (1)",
    "SELECT * FROM pg_catalog.pg_stat_activity",
    "SELECT * FROM pg_catalog.pg_settings",
    "SELECT * FROM pg_catalog.pg_authid",
    "SELECT * FROM pg_catalog.pg_stats",
    "SELECT * FROM pg_catalog.pg_hba_file_rules",
    "SELECT * FROM pg_toast.pg_toast_1",
    "SELECT * FROM pg_temp.t",
    "SELECT * FROM flow_meta.fences",
    'SELECT * FROM "flow_staging"."x"',
    "SELECT * FROM FLOW_META.fences",
    "SELECT * FROM a.flow_backups.x",
    "SELECT 1 WHERE 1 IN (SELECT 1 FROM ONLY flow_meta.fences)",
    "TABLE flow_meta.samples",
    "SELECT $1",
    "SELECT * FROM input)  DELETE FROM public.t; --",
    "",
    "-- nothing",
)


@pytest.mark.parametrize("text", REFUSED)
def test_what_does_more_than_read_is_refused(text):
    with pytest.raises(QueryRefused):
        read_query(text, ("input",))


def test_a_given_table_needs_no_schema_and_others_do():
    assert read_query("SELECT * FROM input", ("input",)).text == "SELECT * FROM input"
    with pytest.raises(QueryRefused, match="with their schema: 'INPUT'"):
        read_query('SELECT * FROM "INPUT"', ("input",))
    with pytest.raises(QueryRefused, match="with their schema"):
        read_query("SELECT * FROM input")


@pytest.mark.parametrize(
    "place",
    [
        "VALUES ({})",
        "SELECT 1 LIMIT {}",
        "SELECT DISTINCT ON ({}) 1",
        "SELECT sum(1) OVER (ORDER BY {})",
        "SELECT CASE WHEN {} IS NULL THEN 1 END",
        "SELECT ARRAY(SELECT {})",
        "SELECT 1 EXCEPT SELECT {}",
        "SELECT * FROM s.t TABLESAMPLE bernoulli ({}) REPEATABLE (1)",
        "SELECT * FROM LATERAL {} AS x",
        "SELECT * FROM ROWS FROM ({}) AS x",
        "SELECT * FROM xmltable('/a' PASSING {} COLUMNS a integer)",
        "SELECT json_value('{{}}', '$' PASSING {} AS x)",
        "SELECT json_array(SELECT {})",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY {})",
        "SELECT 1 GROUP BY GROUPING SETS (({}))",
        "SELECT 1 FROM s.t JOIN s.u ON {} = 1",
        "SELECT (ROW({})).f1",
        'SELECT {}::text COLLATE "C"',
    ],
)
def test_a_function_is_found_anywhere_in_the_query(place):
    read_query(place.format("abs(1)"))
    for call in ("pg_sleep(1)", 'U&"pg_slee\\0070"(1)'):
        with pytest.raises(QueryRefused, match="pg_sleep"):
            read_query(place.format(call))


def test_a_schema_of_flow_is_refused_in_words():
    (found,) = check_query("SELECT * FROM flow_meta.x", ROOT / "query")
    assert (found.code, found.message) == ("query.not_allowed", "The schema flow_meta belongs to Flow.")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT lower(a), count(*), now(), coalesce(b, 0), pg_catalog.upper(c) FROM public.t GROUP BY 1, 3, 4, 5",
        "SELECT a::uuid, CAST(b AS numeric(10, 2)), c || 'x', d LIKE 'a%', e SIMILAR TO 'b' FROM public.t",
        "SELECT extract(year FROM a), a AT TIME ZONE 'UTC', trim(b), substring(b FROM 1), position('x' IN b) FROM s.t",
        "SELECT row_number() OVER (PARTITION BY a), string_agg(b, ','), (c).street FROM public.t GROUP BY 1",
        "SELECT * FROM generate_series(1, 3) AS g, jsonb_array_elements('[1]') AS e, unnest(ARRAY[1]) AS u",
        "SELECT current_user, current_date, xmlelement(name a), json_build_object('a', 1), pg_typeof(1), md5('a')",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a), date_trunc('day', b), regexp_replace(c, 'a', '')",
        "SELECT * FROM information_schema.columns, pg_catalog.pg_class",
    ],
)
def test_functions_that_only_compute_a_value_are_taken(text):
    assert list(check_query(text, ROOT / "query")) == []


def test_functions_operators_and_types_of_others_are_reported_for_whoever_knows_the_connection():
    query = read_query("SELECT public.f(a), b OPERATOR(x.+) c, d::y.z, e OPERATOR(pg_catalog.+) 1 FROM s.t")
    assert (query.foreign_functions, query.operators, query.types) == ((("public", "f"),), (("x", "+"),), (("y", "z"),))


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("SELECT *, a.* FROM s.a WHERE b = 1 ORDER BY c", set()),
        ('SELECT a.b, "C", d AS e, (f).g, 1 FROM s.a', {"b", "C", "e"}),
        ("SELECT * FROM (SELECT b FROM s.a UNION SELECT c FROM s.a) AS q", {"b", "c"}),
        ("WITH q(b) AS (SELECT 1) SELECT * FROM q AS r(c), (VALUES (1)) AS v(d)", {"b", "c", "d"}),
    ],
)
def test_result_columns_that_a_query_spells_are_reported_from_those_of_a_star(text, spelled):
    assert read_query(text).spelled == spelled
