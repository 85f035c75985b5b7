"""blue_green: all rows are replaced, or none; a table that a swap cannot reproduce keeps its relation or is refused."""

from __future__ import annotations

import pytest

from executors.errors import Terminal, Transient
from executors.postgres.client import connect
from executors.postgres.inspect import inspect_target
from executors.postgres.load_modes import load_handler
from executors.postgres.load_modes.blue_green import inspect_with_dependents
from executors.postgres.meta import find_commits, last_loaded_elsewhere
from tests.executors.postgres.snapshots import changes, snapshot


@pytest.fixture
def load(loading, make):
    make("CREATE TABLE t (id integer PRIMARY KEY, v text)")
    make("INSERT INTO t VALUES (1, 'old'), (2, 'old')")
    return loading("t", "id integer", "v", mode="blue_green")


@pytest.fixture
def found(conn, schema):
    """Return the reasons against each way of replacing the rows of a table."""
    return lambda table="t": inspect_with_dependents(conn, schema, table).replacing


@pytest.fixture
def elsewhere(warehouse, schema):
    """Run a statement in a session of its own, as the owner of the table."""
    with connect(warehouse, autocommit=True) as session:
        session.execute(f'SET search_path = "{schema}"')
        yield session.execute


def test_the_staged_rows_take_the_place_of_all_rows(load, rows):
    load.stage([(7, "new")])
    counts = load.commit()
    assert (counts.inserted, counts.loaded) == (1, 1)
    assert rows("SELECT * FROM t") == [(7, "new")]


def test_no_staged_rows_leave_an_empty_table(load, rows):
    assert load.commit().loaded == 0
    assert rows("SELECT * FROM t") == []


def test_columns_that_the_source_lacks_get_their_default(load, make, rows):
    make("ALTER TABLE t ADD w text DEFAULT 'w'")
    load.stage([(7, "new")])
    load.commit()
    assert rows("SELECT * FROM t") == [(7, "new", "w")]


def test_a_key_that_is_repeated_leaves_the_old_rows_and_is_reported_with_its_places(load, rows, conn, schema):
    before = snapshot(conn, schema)
    load.stage([(7, "a"), (7, "b")])
    with pytest.raises(Terminal, match=rf"{schema}\.t rejected a row: constraint 't_pkey'.*record 2"):
        load.commit()
    assert rows("SELECT count(*) FROM t") == [(2,)]
    assert changes(before, snapshot(conn, schema)) == {}


def test_names_that_a_user_owns_are_left_alone(load, make, rows, schema):
    for name in ("t_new", "t_old", "t_swap", "flow_new"):
        make(f"CREATE TABLE {name} AS SELECT 'theirs' AS whose")
    load.stage([(7, "new")])
    load.commit()
    for name in ("t_new", "t_old", "t_swap", "flow_new"):
        assert rows(f"SELECT whose FROM {name}") == [("theirs",)]


def test_the_table_counts_as_the_one_that_it_has_replaced(load, make, loading, schema, conn, rows):
    for value in ("once", "twice"):
        load = loading("t", "id integer", "v", mode="blue_green")
        load.stage([(7, value)])
        load.commit()
    make("ALTER TABLE t RENAME TO renamed")
    run = load.run
    assert last_loaded_elsewhere(conn, run.tenant, run.pipeline, run.node, schema, "renamed") is None
    make("CREATE TABLE t (id integer)")
    make("CREATE TABLE another (id integer)")
    assert last_loaded_elsewhere(conn, run.tenant, run.pipeline, run.node, schema, "another") == f"{schema}.t"


def test_a_row_that_a_trigger_swallows_is_counted(loading, make, rows):
    make("CREATE TABLE t (id integer)")
    make(
        "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN RETURN CASE NEW.id % 2 WHEN 1 THEN NEW END; END'"
    )
    make("CREATE TRIGGER odd BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION odd()")
    load = loading("t", "id integer", mode="blue_green")
    load.stage([(1,), (2,)])
    counts = load.commit()
    assert (counts.inserted, counts.suppressed) == (1, 1)
    assert rows("SELECT id FROM t") == [(1,)]


# --- what a swap would not carry over ---------------------------------------------------------------------------

NOTHING = "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
IN_PLACE = {
    "materialized view {schema}.m": "CREATE MATERIALIZED VIEW m AS SELECT * FROM t",
    "publication {schema}": "CREATE PUBLICATION {schema} FOR TABLE t",
    "function {schema}.f()": "CREATE FUNCTION f() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM t; END",
    "function {schema}.g({schema}.t)": "CREATE FUNCTION g(t) RETURNS text LANGUAGE sql AS 'SELECT $1.v'",
    "column one of table {schema}.o": "CREATE TABLE o (one t)",
    "type {schema}.d": "CREATE DOMAIN d AS t[]",
    "column t of view {schema}.whole": "CREATE VIEW whole AS SELECT t FROM t",
    "view {schema}.theirs, which belongs to {other}": "CREATE VIEW theirs AS SELECT * FROM t;"
    " ALTER VIEW theirs OWNER TO {other}",
    "foreign key k of {schema}.theirs, which belongs to {other}": "CREATE TABLE theirs (id integer CONSTRAINT k"
    " REFERENCES t DEFERRABLE); ALTER TABLE theirs OWNER TO {other}",
    "policy p on table {schema}.o": "CREATE TABLE o (id integer);"
    " CREATE POLICY p ON o USING (id IN (SELECT t.id FROM t))",
    "trigger after, which runs after rows are inserted": NOTHING
    + "; CREATE TRIGGER after AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION nothing()",
    "trigger once, which runs after rows are inserted": NOTHING
    + "; CREATE TRIGGER once BEFORE INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION nothing()",
    "privileges that {other} granted, who does not own the table": "GRANT SELECT ON t TO {other} WITH GRANT OPTION;"
    " SET ROLE {other}; GRANT SELECT ON {schema}.t TO PUBLIC; RESET ROLE",
    "the table belongs to {other}, whose rights the connection's user lacks": "ALTER TABLE t OWNER TO {other};"
    " GRANT SELECT, INSERT, DELETE ON t TO {user}",
    "default value for column n of table {schema}.o": "ALTER TABLE t ADD n integer GENERATED ALWAYS AS IDENTITY;"
    " CREATE TABLE o (n integer DEFAULT nextval('t_n_seq'))",
}


@pytest.mark.parametrize(("obstacle", "ddl"), IN_PLACE.items(), ids=list(IN_PLACE))
def test_what_a_swap_would_lose_is_named_and_kept_by_deleting_and_inserting(
    load, make, admin, other_role, warehouse, schema, found, rows, conn, obstacle, ddl
):
    names = {"schema": schema, "other": other_role, "user": warehouse.user}
    # Only the server's superuser may change owners. The owner of the table makes everything else.
    (admin if "{other}" in ddl else make)(ddl.format(**names))
    assert obstacle.format(**names) in found().against_swap
    assert found().strategy == "replace"
    before = snapshot(conn, schema)
    load.stage([(7, "new")])
    assert load.commit().inserted == 1
    assert rows("SELECT id FROM t") == [(7,)]
    assert changes(before, snapshot(conn, schema)) == {}


def test_a_publication_of_all_tables_is_an_obstacle(load, superuser, admin, found):
    admin("CREATE PUBLICATION of_all FOR ALL TABLES")
    try:
        assert "publication of_all" in found().against_swap
    finally:
        admin("DROP PUBLICATION of_all")


@pytest.mark.parametrize(
    ("ddl", "obstacle"),
    [
        (
            "CREATE TABLE c (id integer CONSTRAINT k REFERENCES t)",
            "foreign key k of {schema}.c, which is not deferrable",
        ),
        (
            "CREATE TABLE c (id integer CONSTRAINT k REFERENCES t ON DELETE CASCADE DEFERRABLE)",
            "foreign key k of {schema}.c, which deletes its rows",
        ),
        (
            "CREATE TABLE c (id integer CONSTRAINT k REFERENCES t ON DELETE SET NULL DEFERRABLE)",
            "foreign key k of {schema}.c, which changes its rows",
        ),
        (
            "CREATE TABLE c (id integer CONSTRAINT k REFERENCES t ON DELETE RESTRICT DEFERRABLE)",
            "foreign key k of {schema}.c, which restricts deletes",
        ),
        ("CREATE RULE r AS ON DELETE TO t DO INSTEAD NOTHING", "rule r, which replaces DELETE"),
    ],
)
def test_a_table_that_neither_strategy_can_replace_is_refused_before_the_read_with_the_obstacles(
    load, make, found, conn, schema, ddl, obstacle
):
    make(ddl)
    assert found().strategy == "swap"
    make("CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
    assert found().against_delete == (obstacle.format(schema=schema),)
    with pytest.raises(Terminal) as refused:
        load_handler("blue_green").inspect(conn, inspect_target(conn, schema, "t"))
    assert refused.value.code == "blue_green.not_possible"
    assert f"materialized view {schema}.m" in refused.value.message
    assert obstacle.format(schema=schema) in refused.value.message


@pytest.mark.parametrize(
    ("ddl", "table", "obstacle"),
    [
        ("CREATE TABLE p (id integer) PARTITION BY RANGE (id)", "p", "the table is partitioned"),
        ("CREATE TABLE p (id integer); CREATE TABLE c () INHERITS (p)", "p", "{schema}.c inherits from it"),
        ("CREATE TABLE p (id integer); CREATE TABLE c () INHERITS (p)", "c", "it inherits from {schema}.p"),
    ],
)
def test_a_table_of_several_parts_is_refused(conn, make, found, schema, ddl, table, obstacle):
    make(ddl)
    assert found(table).strategy is None
    assert obstacle.format(schema=schema) in found(table).against_delete
    with pytest.raises(Terminal, match=r"blue_green\.not_possible"):
        load_handler("blue_green").inspect(conn, inspect_target(conn, schema, table))


def test_an_obstacle_that_comes_after_the_first_look_is_seen_in_time(load, make, rows):
    load.stage([(7, "new")])
    make("CREATE TABLE c (id integer REFERENCES t); CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
    with pytest.raises(Terminal, match=r"blue_green\.not_possible"):
        load.commit()
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


# --- foreign keys of others -------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["swap", "replace"])
def test_rows_that_refer_to_missing_rows_keep_the_old_ones(load, make, rows, found, schema, way):
    make("CREATE TABLE c (id integer CONSTRAINT k REFERENCES t DEFERRABLE)")
    make("INSERT INTO c VALUES (2)")
    if way == "replace":
        make("CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
    assert found().strategy == way
    load.stage([(1, "new")])
    with pytest.raises(Terminal, match=rf"{schema}\.c refers, by its foreign key 'k'") as refused:
        load.commit()
    assert refused.value.code == "target.still_referenced"
    assert rows("SELECT v FROM t") == [("old",), ("old",)]


@pytest.mark.parametrize("way", ["swap", "replace"])
def test_rows_that_refer_to_rows_that_come_again_stay(load, make, rows, found, way):
    make("CREATE TABLE c (id integer CONSTRAINT k REFERENCES t DEFERRABLE)")
    make("INSERT INTO c VALUES (2)")
    if way == "replace":
        make("CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
    load.stage([(2, "new"), (3, "new")])
    load.commit()
    assert rows("SELECT c.id, t.v FROM c JOIN t USING (id)") == [(2, "new")]


def test_a_trigger_that_keeps_old_rows_ends_the_load(load, make, rows):
    make(f"{NOTHING}; CREATE TRIGGER kept BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION nothing()")
    make("CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
    load.stage([(7, "new")])
    with pytest.raises(Terminal, match=r"target\.rows_survived"):
        load.commit()
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]


def test_policies_that_hide_rows_bar_deleting(load, make, found):
    make("ALTER TABLE t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; CREATE POLICY p ON t USING (id = 1)")
    assert found().against_delete == ("row-level security hides rows from the connection's user",)
    assert found().strategy == "swap"


def test_rows_come_in_under_policies_that_bind_the_owner_too(loading, make, rows):
    make("CREATE TABLE t (id integer PRIMARY KEY, p integer REFERENCES t)")
    make(
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;"
        "CREATE POLICY p ON t USING (id > 5) WITH CHECK (id < 10)"
    )
    load = loading("t", "id integer", "p integer", mode="blue_green")
    load.stage([(1, None), (7, 1)])
    load.commit()
    assert rows("SELECT id FROM t") == [(7,)]
    load = loading("t", "id integer", "p integer", mode="blue_green")
    load.stage([(10, None)])
    with pytest.raises(Terminal, match=r"target\.forbidden"):
        load.commit()
    assert rows("SELECT id FROM t") == [(7,)]


@pytest.mark.parametrize("way", ["swap", "replace"])
def test_what_is_to_be_done_before_the_swap_is_done_while_the_old_rows_stand(load, make, elsewhere, found, way):
    if way == "replace":
        make("CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
    assert found().strategy == way
    load.stage([(7, "new")])
    seen = []
    load.commit(before_swap=lambda: seen.extend(elsewhere("UPDATE t SET v = 'seen' RETURNING id").fetchall()))
    assert sorted(seen) == [(1,), (2,)]


# --- while others work ------------------------------------------------------------------------------------------

MEANWHILE = [
    "CREATE INDEX later ON t (v)",
    "GRANT SELECT ON t TO PUBLIC",
    "COMMENT ON TABLE t IS 'later'",
    "CREATE VIEW later AS SELECT * FROM t",
    "CREATE TABLE later (id integer REFERENCES t)",
    "ALTER VIEW v SET (security_barrier = true)",
]


@pytest.mark.parametrize("ddl", MEANWHILE)
def test_what_is_altered_while_the_rows_are_prepared_is_not_lost(load, make, rows, conn, schema, ddl, elsewhere):
    make("CREATE VIEW v AS SELECT * FROM t")
    load.stage([(7, "new")])
    with pytest.raises(Transient) as stopped:
        load.commit(before_swap=lambda: elsewhere(ddl))
    assert stopped.value.code == "target.altered"
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]
    altered = snapshot(conn, schema)
    load.commit()
    assert rows("SELECT id FROM v") == [(7,)]
    assert changes(altered, snapshot(conn, schema)) == {}


def test_a_reader_that_holds_the_table_bounds_the_wait(load, warehouse, schema, rows, conn, monkeypatch):
    monkeypatch.setattr("executors.postgres.table_lock.LOCK_TIMEOUT", "1500ms")
    before = snapshot(conn, schema)
    load.stage([(7, "new")])
    with connect(warehouse) as reader:
        reader.execute(f"SELECT * FROM {schema}.t")
        with pytest.raises(Transient, match=r"target\.lock_timeout"):
            load.commit()
    assert find_commits(load.conn, load.run.run_id) == []
    assert rows("SELECT id FROM t ORDER BY id") == [(1,), (2,)]
    assert changes(before, snapshot(conn, schema)) == {}


def test_rows_that_others_add_meanwhile_do_not_stay(load, make, rows, found):
    make("CREATE MATERIALIZED VIEW m AS SELECT * FROM t")
    load.stage([(7, "new")])
    make("INSERT INTO t VALUES (3, 'late')")
    load.commit()
    assert rows("SELECT id FROM t") == [(7,)]


def test_what_it_sent_can_be_read(load, make, conn):
    make("CREATE INDEX ix_v ON t (v); CREATE VIEW seen AS SELECT * FROM t")
    load.stage([(7, "new")])
    load.commit()
    (commit,) = find_commits(conn, load.run.run_id)
    sent = commit.record.statements
    assert len(sent) < 70
    assert any("CREATE INDEX ix_v" in text for text in sent)
    assert any("CREATE OR REPLACE VIEW" in text for text in sent)
    assert not any("pg_depend" in text for text in sent)
