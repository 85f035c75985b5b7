"""Rules and checks in the editor: each kind can be added and filled in, has a description, and is in the SQL tab."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.urls import reverse
from django.utils.html import escape

from flowapp.pipelines.drafts import open_draft, replace_text
from ir.checks import CHECKS
from ir.rules import RULES

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
RULE_FIELDS: dict[str, dict[str, Any]] = {
    "notNull": {},
    "email": {},
    "url": {},
    "notInFuture": {},
    "regex": {"pattern": "^a"},
    "range": {"min": "0", "max": "9007199254740993.5"},
    "minLength": {"min": "2"},
    "maxLength": {"max": "9"},
    "fieldType": {"expected": "integer"},
    "oneOf": {"values": ["a", "1", '"1"', '""', "1.5"]},
    "notOneOf": {"values": ["x"]},
    "expression": {"expression": "id > 0"},
    "jsonSchema": {"schema": '{"type": "object"}'},
}
CHECK_FIELDS: dict[str, dict[str, Any]] = {
    "rowCount": {"min": "1"},
    "freshness": {"column": "day", "withinHours": "24"},
    "fkIntegrity": {"column": "id", "refTable": "public.known", "refColumn": "id"},
    "cardinality": {"column": "id", "maxDistinct": "9"},
    "duplicateKey": {"columns": ["id", "day"]},
    "unique": {"column": "id"},
    "sum": {"column": "id", "max": "12.5"},
    "mean": {"column": "id", "min": "0"},
    "distinctRatio": {"column": "id", "min": "0.5"},
    "nullRate": {"column": "id", "max": "0.25"},
    "schemaMatch": {"columns": {"id": "integer"}, "allowOthers": "true"},
    "customSql": {"query": "SELECT * FROM input WHERE id < 0", "message": "no debts"},
}
READ = {"values": ["a", 1, "1", "", 1.5], "min": 1, "allowOthers": True}


@pytest.fixture
def act(web, pipeline):
    def call(action: str, path: str, **data: Any) -> str:
        query = {"tab": "visual", "node": "check", "at": "/nodes/2"}
        url = reverse("pipelines:form", args=[pipeline.workspace.slug, pipeline.slug], query=query)
        return web.post(url, {"action": action, "path": path, **data}, headers=HTMX).content.decode()

    return call


@pytest.fixture
def node(act, pipeline, editor):
    act("add_node", "", kind="validate", node="")
    return lambda: json.loads(open_draft(pipeline, editor).text)["nodes"][2]


def fill(act: Any, at: str, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        if isinstance(value, list):
            act("set", f"{at}/{name}", line=value)
        elif isinstance(value, dict):
            act("set", f"{at}/{name}", key=list(value), value=list(value.values()))
        else:
            act("set", f"{at}/{name}", value=value)


def test_every_kind_is_filled_in_here():
    assert (set(RULE_FIELDS), set(CHECK_FIELDS)) == (set(RULES), set(CHECKS))


@pytest.mark.parametrize("kind", RULES)
def test_a_rule_is_added_filled_in_and_says_what_it_is(kind, act, node):
    page = act("append", "/nodes/2/rowLevel", tag=kind)
    assert escape(RULES[kind].__doc__.partition("\n")[0]) in page
    fill(
        act,
        "/nodes/2/rowLevel/0",
        {
            "field": "id",
            "onFail": "skip",
            **RULE_FIELDS[kind],
            "when": "id > 1",
            "maxViolations": "3",
            "maxViolationPct": "1.5",
        },
    )
    (rule,) = node()["rowLevel"]
    read = RULES[kind].read(rule)
    assert (read.when, read.max_violations, read.max_violation_pct, read.on_fail) == ("id > 1", 3, 1.5, "skip")
    assert rule.keys() >= {"field", *RULE_FIELDS[kind]}


def test_a_new_rule_is_valid_at_once_and_its_default_rejects_the_row(act, node):
    page = act("append", "/nodes/2/rowLevel", tag="minLength")
    assert node()["rowLevel"] == [{"field": "", "onFail": "skip", "type": "minLength", "min": 1}]
    assert "must be at least" not in page


def test_condition_and_limits_are_folded_away_until_they_are_used(act, node):
    page = act("append", "/nodes/2/rowLevel", tag="notNull")
    assert page.index("Condition and limits") < page.index('path": "/nodes/2/rowLevel/0/when')
    assert '-fold" open' not in page
    assert '-fold" open' in act("set", "/nodes/2/rowLevel/0/when", value="id >")


def test_listed_values_are_read_as_numbers_or_texts_and_shown_as_they_are_read(act, node):
    act("append", "/nodes/2/rowLevel", tag="oneOf")
    page = act("set", "/nodes/2/rowLevel/0/values", line=RULE_FIELDS["oneOf"]["values"])
    assert node()["rowLevel"][0]["values"] == ["a", 1, "1", "", 1.5]
    for shown in ("a", "1", "&quot;1&quot;", "&quot;&quot;", "1.5"):
        assert f'name="line" value="{shown}"' in page


@pytest.mark.parametrize("kind", CHECKS)
def test_a_check_is_added_filled_in_and_says_what_it_is(kind, act, node):
    page = act("append", f"/nodes/2/datasetLevel/{kind}")
    assert escape(CHECKS[kind].__doc__.partition("\n")[0]) in page
    fill(act, f"/nodes/2/datasetLevel/{kind}", {"onFail": "warn", **CHECK_FIELDS[kind]})
    assert CHECKS[kind].read(node()["datasetLevel"][kind]).on_fail == "warn"


def test_missing_checks_can_be_opened_after_the_existing_ones(act, node):
    page = act("append", "/nodes/2/datasetLevel/sum")
    assert page.index("/datasetLevel/sum") < page.index("More checks") < page.index("/datasetLevel/unique")


def test_the_sql_tab_shows_checks_and_conditions(web, pipeline, editor, act, node):
    fields = {
        kind: {"onFail": "warn", **{name: read_as_json(value) for name, value in fields.items()}}
        for kind, fields in CHECK_FIELDS.items()
    }
    document = json.loads(open_draft(pipeline, editor).text)
    document["nodes"][2] |= {
        "datasetLevel": fields,
        "rowLevel": [
            {"type": "expression", "expression": "id > 0", "onFail": "skip", "id": "positive"},
            {"type": "notNull", "field": "id", "onFail": "skip", "when": "id <> 7"},
        ],
    }
    document["nodes"][2]["inputs"], document["nodes"][1]["inputs"] = ["files"], ["check"]
    draft = open_draft(pipeline, editor)
    replace_text(draft, json.dumps(document))
    page = web.get(reverse("pipelines:edit", args=[pipeline.workspace.slug, pipeline.slug], query={"tab": "sql"}))
    text = page.content.decode()
    for kind in CHECKS:
        assert f"{kind} <span" in text
    assert "SELECT * FROM input WHERE id &lt; 0" in text
    assert "rule positive" in text
    assert "notNull of id: when" in text
    assert "(`id` &lt;&gt; 7)" in text


def read_as_json(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
