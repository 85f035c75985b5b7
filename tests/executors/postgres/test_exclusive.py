"""Exclusion constraints, unique indexes with expressions or conditions, and CHECK over generated columns: rows that
such a constraint refuses are rejected, or reported with their record numbers."""

from __future__ import annotations

import pytest

from executors.errors import Terminal
from executors.postgres.inspect import inspect_target
from executors.postgres.meta import find_commits
from executors.postgres.preview import refuse_repeats
from tests.executors.postgres.test_refused import found, refuse, rejects

TABLE = (
    "CREATE TABLE t (id integer, v text, active boolean, during int4range,"
    " low text GENERATED ALWAYS AS (lower(v)) STORED)"
)
COLUMNS = ("id integer", "v", "active boolean", "during")
THERE = "INSERT INTO t VALUES (1, 'A', true, '[1,5)')"
ROWS = [
    (10, "B", True, "[10,20)"),
    (11, "b", True, "[15,25)"),
    (12, "B", True, "[22,30)"),
    (13, "A", True, "[3,4)"),
    (14, "B", False, "[10,12)"),
    (15, None, True, None),
    (16, None, True, None),
]
EXCLUDE = "ALTER TABLE t ADD CONSTRAINT c EXCLUDE USING gist "

# Each with its definition as reported, and the records that it refuses.
KINDS = {
    "partial": ("CREATE UNIQUE INDEX c ON t (v) WHERE active", r"UNIQUE INDEX c .* \(v\) WHERE active", [3, 4]),
    "on expressions": (
        "CREATE UNIQUE INDEX c ON t (lower(v), (id / 100)) INCLUDE (active)",
        r"\(lower\(v\), .*\) INCLUDE \(active\)",
        [2, 3, 4, 5],
    ),
    "partial, on an expression": (
        "CREATE UNIQUE INDEX c ON t (upper(v)) WHERE v ~ '^B.*'",
        r"\(upper\(v\)\) WHERE .*",
        [3, 5],
    ),
    "on a generated column": ("ALTER TABLE t ADD CONSTRAINT c UNIQUE (low)", r"UNIQUE \(low\)", [2, 3, 4, 5]),
    "deferrable": ("ALTER TABLE t ADD CONSTRAINT c UNIQUE (v) DEFERRABLE", r"UNIQUE \(v\) DEFERRABLE", [3, 4, 5]),
    "deferred": (
        "ALTER TABLE t ADD CONSTRAINT c UNIQUE (v) DEFERRABLE INITIALLY DEFERRED",
        r"UNIQUE \(v\) DEFERRABLE INITIALLY DEFERRED",
        [3, 4, 5],
    ),
    # The third overlaps only the second, which is out.
    "exclusion": (
        EXCLUDE + "(during WITH &&) WHERE (active)",
        r"EXCLUDE USING gist \(during WITH &&\) WHERE \(active\)",
        [2, 4],
    ),
    "deferred exclusion": (
        EXCLUDE + "(int4range(id, id + 2) WITH &&, during WITH &&) DEFERRABLE INITIALLY DEFERRED",
        r"EXCLUDE USING gist .*DEFERRABLE INITIALLY DEFERRED",
        [2],
    ),
}


@pytest.fixture(params=KINDS)
def kind(request, make):
    """A table with one row and one constraint. Returns its definition and the records of `ROWS` that it refuses."""
    define, definition, out = KINDS[request.param]
    make(f"{TABLE}; {THERE}; {define}")
    return definition, out


def test_excluded_rows_are_removed_from_staging(kind, loading, rows):
    load = loading("t", *COLUMNS)
    load.stage(ROWS)
    ((rule, _, _, on_fail, violations),) = found(refuse(load, "skip"))
    assert (rule in ("unique:c", "exclusion:c"), on_fail, violations) == (True, "skip", len(kind[1]))
    assert [(record, name) for record, *_, name, _ in rejects(load)] == [(record, "rows.csv") for record in kind[1]]
    load.commit()
    accepted = [row[0] for record, row in enumerate(ROWS, start=1) if record not in kind[1]]
    assert [id for (id,) in rows("SELECT id FROM t ORDER BY id")] == [1, *accepted]


def test_rows_that_are_kept_out_fail_an_abort_load_with_definition_and_places(kind, loading, rows, conn):
    definition, out = kind
    load = loading("t", *COLUMNS)
    load.stage(ROWS)
    assert found(refuse(load, "abort")) == []
    reported = ", ".join(map(str, out))
    with pytest.raises(Terminal, match=rf"'c'.* It is .*{definition}\. Rows: rows\.csv record {reported}\.$") as raised:
        load.commit()
    assert raised.value.code == "target.constraint"
    assert rows("SELECT id FROM t") == [(1,)]
    assert find_commits(conn, load.run.run_id) == []


@pytest.mark.parametrize("mode", ["truncate", "blue_green"])
def test_rows_that_go_keep_none_out(kind, loading, rows, mode):
    load = loading("t", *COLUMNS, mode=mode)
    load.stage([(20, "A", True, "[1,5)")])
    assert found(refuse(load, "skip")) == []
    load.commit()
    load = loading("t", *COLUMNS, mode=mode)
    load.stage([(21, "B", True, "[1,5)"), (21, "B", True, "[1,5)")])
    with pytest.raises(Terminal, match=rf"'c'.* It is .*{kind[0]}\. Rows: rows\.csv record 2\.$"):
        load.commit()
    assert rows("SELECT id FROM t") == [(20,)]


def test_a_preview_reports_what_the_load_would_fail_with(kind, loading, conn):
    load = loading("t", *COLUMNS)
    load.stage(ROWS)
    with pytest.raises(Terminal, match=rf"would refuse {len(kind[1])} rows?: each .* 'c'") as raised:
        refuse_repeats(conn, load.plan())
    assert raised.value.code == "target.constraint"
    assert conn.execute("SELECT count(*) FROM pg_class WHERE relname LIKE 'flow_twin%'").fetchone() == (0,)


def test_null_may_repeat_a_key_of_the_table(loading, make, rows):
    make("CREATE TABLE t (k integer UNIQUE NULLS NOT DISTINCT, v integer); INSERT INTO t VALUES (NULL, 1)")
    make("CREATE UNIQUE INDEX c ON t (abs(v)) NULLS NOT DISTINCT; INSERT INTO t VALUES (1, NULL)")
    load = loading("t", "k integer", "v integer")
    load.stage([(None, 2), (2, None), (3, 3)])
    assert found(refuse(load, "skip")) == [
        ("unique:t_k_key", "unique", "k", "skip", 1),
        ("unique:c", "unique", "v", "skip", 1),
    ]
    load.commit()
    assert rows("SELECT * FROM t WHERE v > 1") == [(3, 3)]


@pytest.mark.parametrize(
    "define", ["CREATE UNIQUE INDEX c ON t (id) WHERE t IS NOT NULL", "CREATE UNIQUE INDEX c ON t (id) WHERE b > 0"]
)
def test_what_looks_at_more_than_is_loaded_is_left_to_the_database(loading, make, rows, define):
    make(f"CREATE TABLE t (id integer, b integer DEFAULT 5); {define}")
    load = loading("t", "id integer")
    load.stage([(1,), (1,)])
    assert refuse(load, "skip") is None
    with pytest.raises(Terminal, match=r"'c'\. It is CREATE UNIQUE INDEX c ON .* WHERE .*\.$"):
        load.commit()
    assert rows("SELECT * FROM t") == []


def test_a_key_of_a_partition_is_reported_as_the_table_s(loading, make):
    make("CREATE TABLE t (k integer CONSTRAINT whole PRIMARY KEY) PARTITION BY RANGE (k)")
    make("CREATE TABLE part PARTITION OF t FOR VALUES FROM (0) TO (9)")
    load = loading("t", "k integer")
    load.stage([(1,), (1,)])
    with pytest.raises(Terminal, match=r"'part_pkey'\. It is PRIMARY KEY \(k\)\. Rows: rows\.csv record 2\.$"):
        load.commit()


def test_constraints_on_generated_columns_are_looked_for(loading, make, rows):
    make("CREATE TABLE parent (p text PRIMARY KEY); INSERT INTO parent VALUES ('a')")
    make(
        "CREATE TABLE t (a integer, b integer, v text, n numeric(4,1) GENERATED ALWAYS AS (a / 3.0) STORED,"
        " low text GENERATED ALWAYS AS (lower(v)) STORED CONSTRAINT known REFERENCES parent,"
        " CONSTRAINT near CHECK (n < b AND n <> 0.3))"
    )
    load = loading("t", "a integer", "b integer", "v")
    load.stage([(3, 2, "A"), (9, 3, "a"), (1, 5, "a"), (None, 1, "a"), (3, 2, "B")])
    assert found(refuse(load, "skip")) == [
        ("check:near", "check", None, "skip", 2),
        ("foreignKey:known", "foreignKey", "low", "skip", 1),
    ]
    load.commit()
    assert rows("SELECT a, b FROM t ORDER BY b") == [(None, 1), (3, 2)]


def test_a_foreign_key_that_fails_at_commit_undoes_the_load(loading, make, rows, conn):
    make("CREATE TABLE t (id integer PRIMARY KEY, up integer CONSTRAINT up REFERENCES t DEFERRABLE INITIALLY DEFERRED)")
    load = loading("t", "id integer", "up integer")
    load.stage([(1, None), (2, 7)])
    assert found(refuse(load, "skip")) == []
    with pytest.raises(Terminal, match=r"'up'\. It is FOREIGN KEY \(up\) .* INITIALLY DEFERRED\.$") as raised:
        load.commit()
    assert (raised.value.code, rows("SELECT * FROM t"), find_commits(conn, load.run.run_id)) == (
        "target.constraint",
        [],
        [],
    )


def test_keys_over_times_are_no_plain_keys(loading, make, rows, conn, schema):
    if conn.info.server_version < 180000:
        pytest.skip("before PostgreSQL 18 there are none")
    make("CREATE TABLE t (k int4range, during int4range, PRIMARY KEY (k, during WITHOUT OVERLAPS))")
    make("INSERT INTO t VALUES ('[1,2)', '[1,5)')")
    load = loading("t", "k", "during")
    load.stage([("[1,2)", "[4,9)"), ("[3,4)", "[1,9)"), ("[3,4)", "[8,12)"), ("[3,4)", "[9,12)")])
    assert found(refuse(load, "skip")) == [("exclusion:t_pkey", "exclusion", None, "skip", 2)]
    load.commit()
    assert rows("SELECT k::text, during::text FROM t ORDER BY 2") == [
        ("[1,2)", "[1,5)"),
        ("[3,4)", "[1,9)"),
        ("[3,4)", "[9,12)"),
    ]
    dest = inspect_target(conn, schema, "t")
    assert dest is not None
    assert dest.unique_keys == ()
