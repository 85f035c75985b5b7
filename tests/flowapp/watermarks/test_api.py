"""Watermarks by the API."""

from __future__ import annotations

import pytest

from flowapp.accounts.services import add_token

pytestmark = pytest.mark.django_db
HERE = {"X-Flow-Workspace": "alices-team"}
MARK = "/api/pipelines/numbers/watermarks/load/"
NEW = {"value": "2026-01-01T10:00:00", "reason": "a repair"}


def put(client, body=None, **headers):
    return client.put(MARK, NEW if body is None else body, "application/json", headers={**HERE, **headers})


def test_a_watermark_is_set_read_and_reset(as_, following, schema):
    client = as_("editor")
    assert put(client).json()["value"] == "2026-01-01 10:00:00"
    reported = client.get(MARK, headers=HERE).json()
    assert (reported["node"], reported["schema"], reported["table"], reported["column"]) == (
        "load",
        schema,
        "numbers",
        "upd",
    )
    assert (reported["type"], reported["lag"], reported["isLive"]) == ("timestamp without time zone", "15m", True)
    [change] = reported["changes"]
    assert (change["action"], change["by"], change["reason"]) == ("set", "editor@example.com", "a repair")

    answer = client.delete(MARK, {"reason": "again"}, "application/json", headers=HERE)
    assert (answer.status_code, answer.json()["value"]) == (200, None)


def test_the_reason_of_a_reset_is_accepted_in_the_query(as_, following):
    client = as_("editor")
    put(client)
    assert client.delete(f"{MARK}?reason=again", headers=HERE).json()["changes"][0]["reason"] == "again"


@pytest.mark.parametrize("body", [{"value": "2026-01-01T10:00:00"}, {"reason": "x"}, {**NEW, "reason": "  "}, {}])
def test_value_and_reason_are_needed(as_, following, body):
    assert put(as_("editor"), body).status_code == 400


def test_a_value_of_another_type_is_a_problem(as_, following):
    answer = put(as_("editor"), {**NEW, "value": "soon"})
    assert (answer.status_code, answer.json()["code"]) == (422, "watermark.value_malformed")


def test_viewers_read_and_do_not_change(as_, following):
    assert as_("viewer").get(MARK, headers=HERE).status_code == 200
    assert put(as_("viewer")).status_code == 403
    assert as_("viewer").delete(MARK, headers=HERE).status_code == 403


def test_a_program_is_named_in_the_history(client, workspace, person, following):
    key, _ = add_token(workspace, "nightly", "editor", days=1, created_by=person("admin"))
    assert put(client, Authorization=f"Token {key}").json()["changes"][0]["by"] == "token nightly"


@pytest.mark.parametrize("address", [MARK.replace("load", "files"), MARK.replace("numbers", "nothing")])
def test_what_has_no_watermark_is_not_found(as_, following, address):
    assert as_("editor").get(address, headers=HERE).status_code == 404


def test_a_load_that_holds_the_table_is_reported(as_, following, warehouse, schema):
    from executors.postgres.client import connect
    from executors.postgres.table_lock import lock_table
    from executors.table_name import TableName

    with connect(warehouse) as other:
        lock_table(other, TableName(schema, "numbers"))
        assert put(as_("editor")).status_code == 503


def test_what_loads_rows_twice_is_reported_before_a_watermark_is_set_and_when(as_, changing):
    client = as_("editor")
    for reported in (client.get(MARK, headers=HERE).json(), put(client).json()):
        [warning] = reported["warnings"]
        assert warning["code"] == "watermark.rows_may_repeat"
        assert "(loud)" in warning["message"]


def test_a_key_that_is_loaded_is_no_reason_to_warn(as_, changing, sql):
    sql("alter table numbers add primary key (id)")
    assert put(as_("editor")).json()["warnings"] == []


def test_a_key_that_the_table_fills_itself_reports_no_rows_apart(as_, changing, sql):
    sql("alter table numbers add no bigserial primary key")
    assert len(put(as_("editor")).json()["warnings"]) == 1


def test_a_change_that_is_based_on_an_older_value_is_refused(as_, following):
    client = as_("editor")
    seen = put(client).json()["revision"]
    assert put(client, **{"If-Match": f'"{seen}"'}).status_code == 200
    answer = put(client, **{"If-Match": f'"{seen}"'})
    assert (answer.status_code, answer.json()["code"]) == (412, "watermark.stale")
    assert client.delete(f"{MARK}?reason=again", headers={**HERE, "If-Match": f'"{seen}"'}).status_code == 412


def test_a_check_says_what_would_happen_and_changes_nothing(as_, following):
    answer = as_("viewer").post(f"{MARK}check/", NEW, "application/json", headers=HERE)
    assert answer.status_code == 403
    answer = as_("editor").post(f"{MARK}check/", {"value": NEW["value"]}, "application/json", headers=HERE)
    assert answer.json()["nextRun"][0] == (
        "Of new files, the next run loads the rows whose upd is 2026-01-01 09:45:00 or higher."
    )
    assert as_("viewer").get(MARK, headers=HERE).json()["value"] is None


def test_all_watermarks_of_a_pipeline_are_listed(as_, following):
    [one] = as_("viewer").get("/api/pipelines/numbers/watermarks/", headers=HERE).json()
    assert (one["node"], one["revision"]) == ("load", "0")
