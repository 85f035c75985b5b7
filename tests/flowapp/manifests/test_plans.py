"""A plan contains the changes of an apply, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jsonschema
import psycopg
import pytest

from executors.model import Connection
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import change_connection
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import save_version, set_archived, set_enabled, set_paused
from ir.manifests.plan import plan_schema
from tests.flowapp.manifests.conftest import PASSWORD, ProjectFiles, numbers

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace

pytestmark = pytest.mark.django_db


def postgres_of(warehouse: Connection) -> dict[str, Any]:
    names = ("host", "port", "database", "user")
    return {name: getattr(warehouse, name) for name in names}


def execute(warehouse: Connection, *statements: str) -> None:
    address = f"host={warehouse.host} port={warehouse.port} dbname={warehouse.database} user={warehouse.user}"
    with psycopg.connect(address, password=warehouse.password, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_everything_of_a_new_project_is_new(project: ProjectFiles) -> None:
    plan = project.plan()
    assert project.actions() == {
        "warehouse": "new",
        "numbers": "new",
        "shop-orders": "new",
        "shop-customers": "new",
    }
    assert plan.summary == {
        "new": 3, "changed": 0, "restored": 0, "removed": 0, "drifted": 0, "adopted": 0, "unchanged": 0,
        "connections": 1,
    }  # fmt: skip
    assert not Pipeline.objects.exists()
    assert project.change("shop-orders").never_ran


def test_a_plan_reads_no_delta_table(project: ProjectFiles) -> None:
    project.files["flow.toml"] += '\n[connections.lake]\nkind = "folder"\npath = "sales"\n'
    project.files["pipelines/events.json"] = numbers("events", "shop", connector="delta", connection="lake")
    change, actions = project.change("events"), project.actions()
    assert (actions["lake"], actions["events"]) == ("new", "new")
    assert [table.notes for table in change.tables] == [
        ["Plans do not read this Delta table. The first load creates it if it does not exist."]
    ]
    assert not change.problems
    project.apply()
    assert "lake" not in project.actions()


def test_the_plan_has_the_published_schema(project: ProjectFiles) -> None:
    jsonschema.validate(json.loads(json.dumps(project.plan().to_document())), plan_schema())


def test_a_change_is_said_in_words_and_as_a_patch(project: ProjectFiles) -> None:
    project.apply()
    project.edit("flow.toml", "every 15m", "0 6 * * *")
    project.edit("pipelines/numbers.json", '"*.csv"', '"*.tsv"')
    changed = project.change("numbers")
    assert changed.action == "changed"
    assert changed.words == ["files: config.pattern.value changes from '*.csv' to '*.tsv'."]
    assert changed.patch == [{"op": "replace", "path": "/nodes/0/config/pattern/value", "value": "*.tsv"}]
    schedule = project.change("shop-orders").schedule
    assert schedule is not None
    assert (schedule.before, schedule.after) == ("every 15m", "0 6 * * *")


def test_the_create_table_of_the_first_load_is_shown_exactly(project: ProjectFiles, warehouse: Connection) -> None:
    execute(warehouse, f"CREATE TABLE {project.schema}.src (id int, name text)", f"ANALYZE {project.schema}.src")
    project.apply()
    columns = [{"name": "id", "type": "integer", "nullable": False}]
    project.files["pipelines/numbers.json"] = numbers("made", project.schema, columns=columns)
    (table,) = project.change("made").tables
    create, revoke = table.statements
    assert create.sql == (
        f'CREATE TABLE "{project.schema}"."made" ("id" integer NOT NULL, "_source_file_hash" text,'
        ' "_flow_run" uuid, "_source_record" bigint)'
    )
    assert (create.lock, create.rewrites, create.by) == ("", False, "flow")
    assert revoke.sql.startswith("REVOKE ALL")


def test_the_table_of_a_source_gives_columns_and_an_estimate(project: ProjectFiles, warehouse: Connection) -> None:
    execute(
        warehouse,
        f"CREATE TABLE {project.schema}.items AS SELECT g AS id, g::text AS name FROM generate_series(1, 500) g",
        f"ANALYZE {project.schema}.items",
    )
    project.apply()
    source = f'{{ connector = "postgres", connection = "warehouse", config = {{ schema = "{project.schema}" }} }}'
    project.files["pipelines/copy.toml"] = (
        f'id = "copy"\nsource = {source}\ntables = ["items"]\n[destination]\nschema = "{project.schema}_x"\n'
    )
    change = project.change("copy-items")
    assert change.estimated_rows == 500
    assert '"id" integer, "name" text' in change.tables[0].statements[1].sql


def test_what_a_person_must_run_first_is_shown_with_its_lock(project: ProjectFiles, warehouse: Connection) -> None:
    execute(warehouse, f"CREATE TABLE {project.schema}.keyed (id int, name text)")
    project.apply()
    project.files["pipelines/keyed.json"] = numbers("keyed", project.schema, loadMode="upsert", upsertKey=["id"])
    change = project.change("keyed")
    (statement,) = change.tables[0].statements
    assert statement.sql == f'CREATE UNIQUE INDEX ON "{project.schema}"."keyed" ("id")'
    assert (statement.lock, statement.rewrites, statement.by) == ("SHARE", False, "you")
    assert "upsert.key_not_unique" in {problem.code for problem in change.problems}


def test_a_column_that_the_document_declares_and_the_table_lacks_is_shown(
    project: ProjectFiles, warehouse: Connection
) -> None:
    execute(warehouse, f"CREATE TABLE {project.schema}.wider (id int)")
    project.apply()
    document = json.loads(numbers("wider", project.schema))
    document["nodes"][0]["columns"] = [{"name": "id", "type": "integer"}, {"name": "off", "type": "decimal(5,2)"}]
    ops = [{"op": "rename", "columns": {"off": "discount"}}, {"op": "derive", "columns": {"note": "'x'"}}]
    document["nodes"].insert(1, {"id": "names", "kind": "transform", "inputs": ["files"], "ops": ops})
    document["nodes"][2]["inputs"] = ["names"]
    project.files["pipelines/wider.json"] = json.dumps(document)
    (statement,) = project.change("wider").tables[0].statements
    assert statement.sql == f'ALTER TABLE "{project.schema}"."wider" ADD COLUMN "discount" numeric(5,2)'
    assert (statement.lock, statement.by) == ("ACCESS EXCLUSIVE", "you")


def validated(slug: str, project: ProjectFiles, quarantine: str) -> str:
    """A document whose rejected rows go to this table."""
    document = json.loads(numbers(slug, project.schema))
    rules = [{"type": "notNull", "field": "id", "onFail": "skip"}]
    check = {"id": "check", "kind": "validate", "inputs": ["files"], "rowLevel": rules}
    document["nodes"].insert(1, check | {"quarantine": {"enabled": True, "table": quarantine}})
    document["nodes"][2]["inputs"] = ["check"]
    return json.dumps(document)


def test_the_table_of_rejected_rows_is_shown_with_its_statements(project: ProjectFiles, warehouse: Connection) -> None:
    project.apply()
    table = f"{project.schema}_dlq.made"
    project.files["pipelines/made.json"] = validated("made", project, table)
    change = next(table for table in project.change("made").tables if table.rows == "rejected")
    assert (change.node, change.table) == ("check", table)
    execute(warehouse, *(statement.sql for statement in change.statements))
    assert [table.rows for table in project.change("made").tables] == ["loaded"]
    execute(warehouse, f"DROP SCHEMA {project.schema}_dlq CASCADE")


@pytest.fixture
def add_delta(project: ProjectFiles) -> Callable[[str, str], None]:
    """Add a pipeline into a Delta table whose rejected rows go to this table of a connection."""
    project.files["flow.toml"] += '\n[connections.lake]\nkind = "folder"\npath = "sales"\n'

    def call(connection: str, table: str) -> None:
        document = json.loads(validated("made", project, table))
        document["nodes"][1]["quarantine"]["connection"] = connection
        document["nodes"][2] |= {"connector": "delta", "connection": "lake"}
        project.files["pipelines/made.json"] = json.dumps(document)

    return call


def test_rejected_rows_of_a_delta_table_are_shown_in_their_database(
    project: ProjectFiles, add_delta: Callable[[str, str], None]
) -> None:
    project.apply()
    table = f"{project.schema}_dlq.made"
    add_delta("warehouse", table)
    loaded, rejected = project.change("made").tables
    assert (loaded.connection, rejected.connection, rejected.table) == ("lake", "warehouse", table)
    assert f'CREATE SCHEMA "{project.schema}_dlq"' in [s.sql for s in rejected.statements]


def test_a_database_of_rejected_rows_that_is_not_stored_yet_is_named(
    project: ProjectFiles, add_delta: Callable[[str, str], None]
) -> None:
    add_delta("warehouse", "dlq.made")
    _, rejected = project.change("made").tables
    assert (rejected.rows, rejected.statements) == ("rejected", [])
    assert rejected.notes == ["Unknown until the connection warehouse is stored."]


def test_an_unknown_connection_of_a_quarantine_is_a_problem(
    project: ProjectFiles, add_delta: Callable[[str, str], None]
) -> None:
    add_delta("elsewhere", "dlq.made")
    (problem,) = project.change("made").problems
    assert (problem.code, problem.path) == ("connection.unknown", "/nodes/1/quarantine/connection")


def test_a_schema_that_a_person_must_create_is_shown(project: ProjectFiles) -> None:
    project.apply()
    project.files["pipelines/far.json"] = numbers("far", f"{project.schema}_far")
    (table,) = project.change("far").tables
    assert [(s.sql, s.by) for s in table.statements] == [(f'CREATE SCHEMA "{project.schema}_far"', "you")]


def test_a_load_that_will_replace_all_rows_is_marked(project: ProjectFiles) -> None:
    project.apply()
    project.edit("pipelines/numbers.json", '"append"', '"truncate"')
    change = project.change("numbers")
    assert change.destructive == [f"The next run replaces all rows of {project.schema}.numbers (truncate)."]


def test_an_unknown_connection_is_a_problem(project: ProjectFiles) -> None:
    project.edit("pipelines/numbers.json", '"warehouse"', '"elsewhere"')
    assert [problem.code for problem in project.change("numbers").problems] == ["connection.unknown"]


def test_pipelines_of_the_browser_are_listed_and_left_alone(project: ProjectFiles) -> None:
    project.apply()
    save_version(project.workspace, numbers("mine", project.schema))
    plan = project.plan()
    assert plan.unmanaged == ["mine"]
    assert plan.is_empty


def test_a_missing_secret_is_a_problem_only_where_it_is_needed(project: ProjectFiles) -> None:
    del project.environment[PASSWORD]
    (connection,) = project.plan().connections
    assert [problem.code for problem in connection.problems] == ["connection.secret_missing"]


def test_a_stored_password_does_not_follow_to_another_host(project: ProjectFiles) -> None:
    project.apply()
    del project.environment[PASSWORD]
    assert project.plan().is_empty
    project.edit("flow.toml", 'host = "', 'host = "evil.')
    (connection,) = project.plan().connections
    assert [problem.code for problem in connection.problems] == ["connection.secret_missing"]


def test_a_host_that_would_be_refused_is_a_problem(project: ProjectFiles) -> None:
    project.edit("flow.toml", 'host = "', 'host = "postgresql://')
    (change,) = project.plan().connections
    assert [problem.code for problem in change.problems] == ["connection.host_invalid"]


def test_no_secret_is_shown(project: ProjectFiles, warehouse: Connection) -> None:
    project.apply()
    project.environment[PASSWORD] = "another-secret"
    plan = project.plan()
    assert plan.connections[0].words == ["A secret changes."]
    text = json.dumps(plan.to_document())
    assert "another-secret" not in text
    assert warehouse.password not in text


def test_plans_of_different_changes_have_different_fingerprints(project: ProjectFiles) -> None:
    before = project.plan().fingerprint
    assert project.plan().fingerprint == before
    project.edit("flow.toml", "every 15m", "every 30m")
    assert project.plan().fingerprint != before


def test_a_pipeline_that_was_deleted_and_made_again_in_the_browser_needs_force(project: ProjectFiles) -> None:
    project.apply()
    delete_pipeline(Pipeline.objects.get(slug="numbers"))
    save_version(project.workspace, numbers("numbers", project.schema, onTypeMismatch="skip"))
    change = project.change("numbers")
    assert (change.action, change.needs) == ("drifted", ["force"])
    assert [refusal.code for refusal in project.apply().refused] == ["plan.drift"]


def test_changes_made_in_the_browser_are_described_in_a_fixed_number_of_queries(
    project: ProjectFiles, django_assert_max_num_queries
) -> None:
    slugs = [f"p{number}" for number in range(30)]
    project.files.update({f"pipelines/{slug}.json": numbers(slug, project.schema) for slug in slugs})
    project.apply()
    for slug in slugs:
        save_version(project.workspace, numbers(slug, project.schema, onTypeMismatch="skip"))
    with django_assert_max_num_queries(20):
        plan = project.plan()
    drifts = [change.drift for change in plan.pipelines]
    assert len(drifts) == 30
    assert all(drift is not None and drift.patch for drift in drifts)


def test_two_hundred_pipelines_are_planned_in_a_bounded_number_of_queries(
    project: ProjectFiles, django_assert_max_num_queries
) -> None:
    for i in range(200):
        project.files[f"pipelines/p{i}.json"] = numbers(f"p{i}", project.schema)
    with django_assert_max_num_queries(20):
        assert project.plan().summary["new"] == 203


def edited(workspace: Workspace, slug: str, schema: str) -> None:
    save_version(workspace, numbers(slug, schema, onTypeMismatch="skip"))


def test_an_edit_in_the_browser_is_drift(project: ProjectFiles) -> None:
    project.apply()
    edited(project.workspace, "numbers", project.schema)
    change = project.change("numbers")
    assert change.action == "drifted"
    assert change.drift is not None
    assert change.drift.kind == "edited"
    assert change.drift.words == ["load: onTypeMismatch is added: 'skip'."]
    assert change.needs == ["force"]


def test_an_edit_on_both_sides_is_a_change_with_drift(project: ProjectFiles) -> None:
    project.apply()
    edited(project.workspace, "numbers", project.schema)
    project.edit("pipelines/numbers.json", '"*.csv"', '"*.tsv"')
    change = project.change("numbers")
    assert (change.action, change.needs) == ("changed", ["force"])
    assert change.words == [
        "files: config.pattern.value changes from '*.csv' to '*.tsv'.",
        "load: onTypeMismatch is removed.",
    ]


def test_the_same_edit_on_both_sides_is_adopted(project: ProjectFiles) -> None:
    project.apply()
    edited(project.workspace, "numbers", project.schema)
    project.files["pipelines/numbers.json"] = numbers("numbers", project.schema, onTypeMismatch="skip")
    assert project.actions() == {"numbers": "adopted"}


@pytest.mark.parametrize(("kind", "act"), [("archived", lambda p: set_archived(p, True)), ("deleted", Pipeline.delete)])
def test_what_was_archived_or_deleted_in_the_browser_is_drift(project: ProjectFiles, kind: str, act) -> None:
    project.apply()
    act(Pipeline.objects.get(slug="numbers"))
    change = project.change("numbers")
    assert (change.action, change.drift and change.drift.kind) == ("drifted", kind)


def test_what_was_edited_in_the_browser_is_archived_only_with_force(project: ProjectFiles) -> None:
    project.apply()
    edited(project.workspace, "numbers", project.schema)
    del project.files["pipelines/numbers.json"]
    change = project.change("numbers")
    assert (change.action, change.needs) == ("removed", ["force", "yes"])
    assert [refusal.code for refusal in project.apply(yes=True).refused] == ["plan.drift"]


def test_a_switch_of_the_browser_is_listed_and_left_alone(project: ProjectFiles) -> None:
    project.apply()
    set_paused(Pipeline.objects.get(slug="numbers"), True)
    set_enabled(Pipeline.objects.get(slug="shop-orders"), False)
    plan = project.plan()
    assert (plan.paused, plan.is_empty) == (["shop-orders", "numbers"], True)


def test_another_id_says_that_the_next_run_loads_everything_again(project: ProjectFiles) -> None:
    project.apply()
    project.edit("pipelines/numbers.json", '"id": "numbers"', '"id": "figures"')
    assert project.actions() == {"figures": "new", "numbers": "removed"}
    assert project.change("figures").destructive == [
        f"The next run loads everything into {project.schema}.numbers that numbers has loaded there: "
        "files and watermarks belong to the id of a pipeline."
    ]


def test_a_pipeline_of_the_browser_with_the_same_id_is_drift(project: ProjectFiles) -> None:
    connection_only = dict(project.files)
    project.files = {"flow.toml": connection_only["flow.toml"]}
    project.apply()
    edited(project.workspace, "numbers", project.schema)
    project.files = connection_only
    change = project.change("numbers")
    assert (change.action, change.drift and change.drift.kind) == ("drifted", "unmanaged")


def test_a_connection_that_was_changed_in_the_browser_is_drift(project: ProjectFiles) -> None:
    from flowapp.connections.models import Connection as Stored

    project.apply()
    Stored.objects.filter(name="warehouse").update(sslmode="require")
    (change,) = project.plan().connections
    assert (change.action, change.needs) == ("drifted", ["force", "admin"])
    assert change.drift is not None
    assert change.drift.words == ["sslmode changes from prefer to require."]


def test_a_secret_that_was_changed_in_the_browser_is_drift(project: ProjectFiles, warehouse: Connection) -> None:
    project.apply()
    fields = ConnectionFields("postgres", **postgres_of(warehouse), password="of the browser")
    change_connection(project.workspace, "warehouse", fields)
    (change,) = project.plan().connections
    assert (change.action, change.needs) == ("drifted", ["force", "admin"])
    assert change.drift is not None
    assert change.drift.words == ["The connection was changed, and its secret differs."]


def test_a_connection_that_was_changed_in_the_browser_is_removed_only_with_force(project: ProjectFiles) -> None:
    from flowapp.connections.models import Connection as Stored

    project.apply()
    Stored.objects.filter(name="warehouse").update(sslmode="require")
    project.files = {"flow.toml": '[project]\nname = "shop"\n'}
    (change,) = project.plan().connections
    assert (change.action, change.needs) == ("removed", ["force", "yes", "admin"])
