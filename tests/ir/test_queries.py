"""Queries that people write over rows: what is refused wherever it stands."""

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


@pytest.mark.parametrize("text", ["SELECT * FROM flow_meta.x", 'SELECT 1 WHERE 1 IN (SELECT 1 FROM "flow_meta"."x")',
                                  "SELECT * FROM FLOW_META.x"])  # fmt: skip
def test_a_forbidden_schema_is_refused_wherever_it_stands(text):
    (found,) = check_query(text, ROOT / "query", forbidden=("flow_meta",))
    assert (found.code, found.message) == ("query.not_allowed", "The schema flow_meta is Flow's own.")


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("SELECT *, a.* FROM s.a WHERE b = 1 ORDER BY c", set()),
        ('SELECT a.b, "C", d AS e, (f).g, 1 FROM s.a', {"b", "C", "e"}),
        ("SELECT * FROM (SELECT b FROM s.a UNION SELECT c FROM s.a) AS q", {"b", "c"}),
        ("WITH q(b) AS (SELECT 1) SELECT * FROM q AS r(c), (VALUES (1)) AS v(d)", {"b", "c", "d"}),
    ],
)
def test_result_columns_that_a_query_spells_are_told_from_those_of_a_star(text, spelled):
    assert read_query(text).spelled == spelled
