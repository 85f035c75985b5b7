"""Previews of nodes by API: of the draft, for users who may see rows, stored encrypted for minutes."""

from __future__ import annotations

from uuid import uuid4

import pytest
import redis

from executors.errors import Terminal
from flowapp.node_previews import executing, store
from flowapp.pipelines.drafts import open_draft, patch_draft
from flowapp.processes.heartbeats import beat
from tests.flowapp.conftest import make_document
from tests.flowapp.node_previews.conftest import HERE, shown

pytestmark = pytest.mark.django_db(transaction=True)


def ask(api, node="check", **more):
    answer = api("editor", "post", "preview/", {"pipeline": "numbers", "node": node, **more})
    assert answer.status_code == 202, answer.json()
    return f"preview/{answer.json()['id']}/"


def test_rows_with_their_results_are_answered(api, checked, work):
    preview = ask(api)
    assert api("editor", "get", preview).json()["state"] == "queued"
    work()
    answer = api("editor", "get", preview).json()
    assert (answer["state"], answer["node"], answer["sample"], answer["error"]) == ("succeeded", "check", "first", None)
    assert answer["result"]["rowsRejected"] == 1
    assert [(row["result"], row["after"]) for row in answer["result"]["rows"]] == [
        ("passed", [1, "Ann"]),
        ("rejected", None),
    ]
    assert answer["result"]["rows"][1]["violations"][0]["ruleId"] == "notNull"


def test_the_draft_is_previewed_before_any_save(api, checked, work, engine, person):
    draft = open_draft(checked, person("editor"))
    rule = {"type": "range", "field": "id", "min": 1, "onFail": "warn"}
    patch_draft(draft, [{"op": "add", "path": "/nodes/1/rowLevel/-", "value": rule}])
    ask(api, sample="random", seed=7)
    work()
    (job,) = engine
    assert [rule.type for rule in job.pipeline.node("check").row_level] == ["notNull", "range"]
    assert (job.sample, job.seed, job.without_target, set(job.connections)) == ("random", 7, "", {"warehouse"})


def test_what_is_wrong_after_the_node_is_left_out(api, checked, work, engine, person):
    patch_draft(open_draft(checked, person("editor")), [{"op": "replace", "path": "/nodes/2/table", "value": ""}])
    ask(api)
    work()
    (job,) = engine
    assert "Nodes after check are ignored" in job.without_target
    assert job.connections == {}


@pytest.mark.parametrize(
    ("patch", "node", "message"),
    [
        ({"op": "replace", "path": "/nodes/0/config/format", "value": {"type": "xls"}}, "check", "xls"),
        ({"op": "replace", "path": "/nodes/1/inputs", "value": []}, "check", "reads from no source"),
        ({"op": "replace", "path": "/nodes/2/table", "value": ""}, "load", "table"),
    ],
)
def test_errors_up_to_the_node_are_reported(api, checked, person, patch, node, message):
    patch_draft(open_draft(checked, person("editor")), [patch])
    refused = api("editor", "post", "preview/", {"pipeline": "numbers", "node": node})
    assert (refused.status_code, refused.json()["code"]) == (422, "preview.not_ready")
    assert message in refused.json()["detail"]


def test_nobody_else_reads_it(api, checked, work, as_):
    preview = ask(api)
    work()
    assert api("admin", "get", preview).json()["code"] == "preview.unknown"
    assert api("viewer", "get", preview).status_code == 403
    assert api("viewer", "post", "preview/", {"pipeline": "numbers", "node": "check"}).status_code == 403
    assert api("stranger", "get", preview).status_code == 404
    elsewhere = {"X-Flow-Workspace": "bobs-team"}
    assert as_("stranger").get(f"/api/{preview}", headers=elsewhere).status_code == 404
    asking = {"pipeline": "numbers", "node": "check"}
    asked = as_("stranger").post("/api/preview/", asking, headers=elsewhere, content_type="application/json")
    assert (asked.status_code, asked.json()["code"]) == (404, "pipeline.unknown")
    assert api("editor", "get", f"preview/{uuid4()}/").status_code == 404


def test_who_lost_the_role_reads_it_no_more(checked, work, workspace, person, as_):
    from flowapp.accounts.models import Membership

    client, path = as_("editor"), "/api/preview/"
    asked = client.post(path, {"pipeline": "numbers", "node": "check"}, headers=HERE, content_type="application/json")
    work()
    Membership.objects.filter(workspace=workspace, user=person("editor")).update(role="viewer")
    assert client.get(f"{path}{asked.json()['id']}/", headers=HERE).status_code == 403


def test_rows_are_encrypted_and_expire(api, checked, work, redis_url):
    preview = ask(api)
    work()
    with redis.Redis.from_url(redis_url) as client:
        keys = [key for key in client.keys("*node-preview*") if client.type(key) == b"string"]
        assert keys
        assert all(client.ttl(key) != -1 for key in keys)
        held = b"".join(client.get(key) or b"" for key in keys)
    assert b'"Ann"' not in held
    assert b'"notNull"' not in held
    assert api("editor", "get", preview).json()["state"] == "succeeded"


def test_a_newer_preview_replaces_the_older_one(api, checked, work, engine):
    older, newer = ask(api), ask(api, node="files")
    work()
    assert [job.node for job in engine] == ["files"]
    assert api("editor", "get", older).json()["error"]["code"] == "preview.replaced"
    assert api("editor", "get", newer).json()["state"] == "succeeded"


def test_one_that_is_under_way_is_ended_by_a_newer_one(api, checked, work, monkeypatch):
    monkeypatch.setattr(executing, "LOOK_EVERY_SECONDS", 0.02)

    def slow(job, cancellation):
        import threading

        ended = threading.Event()
        cancellation.on_cancel(ended.set)
        ask(api, node="files")
        assert ended.wait(5)
        monkeypatch.setattr(executing, "preview_node", lambda job, cancellation: shown(job))
        cancellation.check()

    monkeypatch.setattr(executing, "preview_node", slow)
    older = ask(api)
    work()
    assert api("editor", "get", older).json()["error"]["code"] == "preview.replaced"


def test_one_that_waits_is_cancelled_and_not_made(api, checked, work, engine):
    preview = ask(api)
    answer = api("editor", "post", f"{preview}cancel/")
    assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    work()
    assert (api("editor", "get", preview).json()["state"], engine) == ("cancelled", [])


def test_one_that_is_under_way_is_ended_when_it_is_cancelled(api, checked, work, monkeypatch):
    monkeypatch.setattr(executing, "LOOK_EVERY_SECONDS", 0.02)

    def slow(job, cancellation):
        import threading

        ended = threading.Event()
        cancellation.on_cancel(ended.set)
        api("editor", "post", f"{preview}cancel/")
        assert ended.wait(5)
        cancellation.check()

    monkeypatch.setattr(executing, "preview_node", slow)
    preview = ask(api)
    work()
    answer = api("editor", "get", preview).json()
    assert (answer["state"], answer["error"]["code"], answer["result"]) == ("cancelled", "preview.cancelled", None)


def test_only_its_owner_cancels_it_and_only_until_it_has_ended(api, checked, work):
    preview = ask(api)
    assert api("admin", "post", f"{preview}cancel/").json()["code"] == "preview.unknown"
    assert api("viewer", "post", f"{preview}cancel/").status_code == 403
    work()
    assert api("editor", "post", f"{preview}cancel/").json()["state"] == "succeeded"


def test_one_that_takes_too_long_is_ended(api, checked, work, monkeypatch):
    monkeypatch.setattr(executing, "MOST_SECONDS", 0)
    monkeypatch.setattr(executing, "LOOK_EVERY_SECONDS", 0.02)

    def slow(job, cancellation):
        import threading

        ended = threading.Event()
        cancellation.on_cancel(ended.set)
        assert ended.wait(5)
        cancellation.check()

    monkeypatch.setattr(executing, "preview_node", slow)
    preview = ask(api)
    work()
    assert api("editor", "get", preview).json()["error"]["code"] == "preview.too_slow"


def test_a_failure_is_answered_with_its_code_and_hint(api, checked, work, monkeypatch):
    def fail(job, cancellation):
        raise Terminal("source.no_files", "No file matches '*.csv'.", hint="Put a file there.", node="files")

    monkeypatch.setattr(executing, "preview_node", fail)
    preview = ask(api)
    work()
    answer = api("editor", "get", preview).json()
    assert (answer["state"], answer["result"]) == ("failed", None)
    assert answer["error"] == {
        "code": "source.no_files",
        "node": "files",
        "message": "No file matches '*.csv'.",
        "hint": "Put a file there.",
    }


def test_it_says_what_it_waits_for(api, checked, engine):
    preview = ask(api)
    assert api("editor", "get", preview).json()["error"]["code"] == "preview.no_worker"
    beat("one", "worker")
    assert api("editor", "get", preview).json()["state"] == "starting_spark"
    beat("one spark", "spark")
    assert api("editor", "get", preview).json()["state"] == "queued"
    store.take(1)


def test_one_whose_worker_died_is_lost(api, checked, engine):
    preview = ask(api)
    store.write_answer(store.take(1), store.Answer("running"))
    assert api("editor", "get", preview).json()["error"]["code"] == "preview.lost"


def test_a_large_answer_loses_rows(api, checked, work, monkeypatch):
    monkeypatch.setattr(executing, "preview_node", lambda job, cancellation: shown(job, rows=200, name="x" * 10_000))
    preview = ask(api)
    work()
    result = api("editor", "get", preview).json()["result"]
    assert len(result["rows"]) == 25
    assert result["rowsRead"] == 200


def test_no_run_and_no_row_is_stored(api, checked, work):
    from flowapp.runs.models import Run

    ask(api)
    work()
    assert Run.objects.count() == 0


@pytest.mark.parametrize(
    ("node", "nodes", "why"),
    [
        ("shape", {"files", "names", "shape", "load"}, ""),
        ("names", {"names", "names_preview"}, "Rows are looked up in these by shape."),
    ],
)
def test_a_node_that_joins_is_previewed_with_its_references(api, save, work, engine, schema, node, nodes, why):
    source, load = make_document(schema=schema)["nodes"]
    config = {"path": "names", "pattern": {"type": "glob", "value": "*"}, "format": {"type": "csv"}}
    names = {"id": "names", "kind": "source", "connector": "local_fs", "config": config}
    join = {"op": "join", "with": "names", "type": "semi", "on": {"name": "key"}}
    shape = {"id": "shape", "kind": "transform", "inputs": ["files", "names"], "ops": [join]}
    save(nodes=[source, names, shape, {**load, "inputs": ["shape"]}])
    ask(api, node)
    work()
    (job,) = engine
    assert {one.id for one in job.pipeline.nodes} == nodes
    assert job.without_target == why


TOTALS = {"op": "aggregate", "by": ["name"], "columns": [{"as": "people", "function": "count"}]}


@pytest.mark.parametrize("last", [{"table": ""}, {"inputs": []}], ids=["a target with an error", "no target"])
def test_groups_are_previewed_before_their_target_is_finished(api, checked, work, engine, person, schema, last):
    source, load = make_document(schema=schema)["nodes"]
    totals = {"id": "totals", "kind": "transform", "inputs": ["files"], "ops": [TOTALS]}
    nodes = [source, totals, {**load, "inputs": ["totals"], "loadMode": "truncate", **last}]
    patch_draft(open_draft(checked, person("editor")), [{"op": "replace", "path": "/nodes", "value": nodes}])
    ask(api, "totals")
    work()
    (job,) = engine
    assert [node.id for node in job.pipeline.nodes] == ["files", "totals", "totals_preview"]


def test_a_branch_node_is_previewed_without_the_targets_of_its_other_branches(api, save, work, engine, schema):
    source, load = make_document(schema=schema)["nodes"]
    parts = [{"to": "ann", "where": "name = 'Ann'"}]
    branch = {"id": "who", "kind": "branch", "inputs": ["files"], "branches": parts, "default": "others"}
    ends = [{**load, "id": name, "table": name, "inputs": ["who"]} for name in ("ann", "others")]
    save(nodes=[source, branch, *ends])
    ask(api, "who")
    work()
    (job,) = engine
    assert (job.without_target, [node.id for node in job.pipeline.nodes]) == ("", ["files", "who", "ann", "others"])
