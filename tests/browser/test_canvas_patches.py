"""The same edits by canvas, forms and JSON result in the same document and change nothing else.

The canvas is its model in a browser; the forms are those of the server. No page of Flow is opened."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.http import QueryDict
from playwright.sync_api import Page

from flowapp.pipelines.edits import form_patch
from flowapp.pipelines.skeletons import SKELETONS, describe_kinds, may_read, new_node
from ir.json_edits import apply_patch
from tests.properties import examples

SOURCES = Path(__file__).parents[2] / "static/src/canvas"
MODULES = ("plain.js", "summaries.js", "branches.js", "model.js")
"""Each imports those before it alone."""
KINDS = describe_kinds("warehouse", "a")
# Parts that no action changes must stay byte for byte: a large integer, spaces, an order of keys, escapes.
UNTOUCHED = '"metadata" :{"name": "\\u00e4", "limits":[12345678901234567890,1.0,   2e3]}'
TEXT = f'{{"id": "a", "nodes": [\n  {{"kind": "source", "id": "a"}}\n], {UNTOUCHED}\n}}\n'

LOAD = """async sources => {
  const urls = {};
  for (const [name, source] of sources) {
    const linked = source.replaceAll(/from "[.][/](.*?)"/g, (_, other) => `from "${urls[other]}"`);
    urls[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
  }
  window.model = await import(urls["model.js"]);
}"""
ACT = """([name, text, args]) => {
  const given = model[name](JSON.parse(text), ...args);
  return given && (given.patch ?? given);
}"""
DRAWN = (
    "text => model.drawnNodes(JSON.parse(text)).map(({key, kind, inputs, position}) => ({key, kind, inputs, position}))"
)


@pytest.fixture
def canvas(page: Page) -> Page:
    page.goto("about:blank")
    page.evaluate(LOAD, [(name, (SOURCES / name).read_text()) for name in MODULES])
    return page


def choose(rng: random.Random, drawn: list[dict[str, Any]]) -> tuple[str, list[Any]]:
    """An action of the model with its arguments."""
    keys = [node["key"] for node in drawn] or ["nobody"]
    place = {"x": rng.randint(-900, 900) / 2, "y": rng.randint(-900, 900)}
    edges = [
        {"source": given, "target": node["key"], "index": i} for node in drawn for i, given in enumerate(node["inputs"])
    ]
    edge = rng.choice(edges) if edges else {"source": "nobody", "target": "nobody", "index": 0}
    actions: list[tuple[str, list[Any]]] = [
        ("addNode", [KINDS, rng.choice(list(SKELETONS)), place, rng.choice(keys)]),
        ("addNode", [KINDS, rng.choice(list(SKELETONS)), None, None]),
        ("insertNode", [KINDS, "transform", place, edge]),
        ("connect", [rng.choice(keys), rng.choice(keys)]),
        ("reconnect", [edge, rng.choice(keys), rng.choice(keys)]),
        ("move", [dict.fromkeys(rng.sample(keys, min(2, len(keys))), place)]),
        ("remove", [rng.sample(keys, 1), [edge]]),
        ("remove", [[], rng.sample(edges, min(2, len(edges)))]),
    ]
    return rng.choice(actions)


def test_random_actions_are_never_refused_and_touch_nothing_else(canvas: Page) -> None:
    rng, text = random.Random(4), TEXT
    done = dict.fromkeys(("addNode", "insertNode", "connect", "reconnect", "move", "remove"), 0)
    for _ in range(examples(400)):
        name, args = choose(rng, canvas.evaluate(DRAWN, text))
        patch = canvas.evaluate(ACT, [name, text, args])
        if patch is None:
            continue
        text = apply_patch(text, patch)
        done[name] += 1
        ids = [node["id"] for node in json.loads(text)["nodes"]]
        assert UNTOUCHED in text
        assert len(ids) == len(set(ids))
        assert {given for node in json.loads(text)["nodes"] for given in node.get("inputs", [])} <= set(ids)
    assert min(done.values()) > examples(10), done


class Edit(NamedTuple):
    """One edit in the words of each surface: a call of the canvas' model, a form's fields, a change of the JSON."""

    call: tuple[str, list[Any]]
    fields: dict[str, str]
    change: Callable[[list[Any]], None]


def lead(nodes: list[Any], source: str | None, reader: str) -> None:
    """A branch node names each node that reads from it."""
    for node in nodes:
        if node["id"] == source and node["kind"] == "branch" and reader not in [to["to"] for to in node["branches"]]:
            node["branches"].append({"to": reader, "where": ""})


def leave(node: Any, reader: str) -> None:
    if node["kind"] == "branch":
        node["branches"] = [branch for branch in node["branches"] if branch["to"] != reader]


def add(rng: random.Random, nodes: list[Any]) -> Edit:
    kind = rng.choice(list(SKELETONS))
    ids = [node["id"] for node in nodes]
    read = {given for node in nodes for given in node.get("inputs", [])}
    loose = [node["id"] for node in nodes if may_read(kind, node["kind"]) and node["id"] not in read]
    before = loose[0] if len(loose) == 1 else None

    def change(nodes: list[Any]) -> None:
        node = new_node(kind, ids, "warehouse", "a", before or "")
        lead(nodes, before, node["id"])
        nodes.append(node)

    return Edit(
        ("addNode", [KINDS, kind, None, before]),
        {"action": "add_node", "kind": kind, "connection": "warehouse"},
        change,
    )


def delete(rng: random.Random, nodes: list[Any]) -> Edit:
    gone = rng.choice(nodes)["id"]

    def change(nodes: list[Any]) -> None:
        nodes[:] = [node for node in nodes if node["id"] != gone]
        for node in nodes:
            if "inputs" in node:
                node["inputs"] = [given for given in node["inputs"] if given != gone]
            leave(node, gone)

    return Edit(("remove", [[gone]]), {"action": "delete_node", "node": gone}, change)


def connect(rng: random.Random, nodes: list[Any]) -> Edit:
    """A node gets another input. A second one of a transform node would be a join, which a form adds otherwise."""
    to = rng.choice([node for node in nodes if node["kind"] != "source"] or nodes)
    joins = {"source", "transform"} if to["kind"] == "transform" and to.get("inputs") else set()
    given = rng.choice([node for node in nodes if node is not to and node["kind"] not in joins] or [to])["id"]
    reader = to["id"]

    def change(nodes: list[Any]) -> None:
        node = next(node for node in nodes if node["id"] == reader)
        for other in nodes:
            if node.get("inputs") == [other["id"]] != [given]:
                leave(other, reader)
        node["inputs"] = [given]
        lead(nodes, given, reader)

    return Edit(("connect", [given, reader]), {"action": "set_input", "node": reader, "value": given}, change)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_canvas_forms_and_json_give_the_same_document(canvas: Page, seed: int) -> None:
    rng = random.Random(seed)
    by_canvas = by_form = json.dumps({"id": "a", "nodes": []})
    by_json = json.loads(by_form)
    for _ in range(examples(150)):
        nodes = by_json["nodes"]
        edit = rng.choice((add, add, delete, connect) if len(nodes) > 1 else (add,))(rng, nodes)
        name, args = edit.call
        by_canvas = apply_patch(by_canvas, canvas.evaluate(ACT, [name, by_canvas, args]) or [])
        by_form = apply_patch(by_form, form_patch(json.loads(by_form), _posted(edit.fields)))
        edit.change(nodes)
        assert json.loads(by_canvas) == json.loads(by_form) == by_json


def _posted(fields: dict[str, str]) -> QueryDict:
    data = QueryDict(mutable=True)
    data.update(fields)
    return data
