"""What the canvas sends, as its own model makes it, is what the server's patches do to the text."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from flowapp.pipelines.json_edits import apply_patch

MODEL = Path(__file__).parents[2] / "static/src/canvas/model.js"
KINDS = ("source", "transform", "validate", "target")
# What no action names stays, sign for sign: an integer that no double holds, spaces, an order of keys, escapes.
UNTOUCHED = '"metadata" :{"name": "\\u00e4", "limits":[12345678901234567890,1.0,   2e3]}'
TEXT = f'{{"nodes": [\n  {{"kind": "source", "id": "a"}}\n], {UNTOUCHED}\n}}\n'

LOAD = """async source => {
  window.model = await import("data:text/javascript," + encodeURIComponent(source));
}"""
ACT = """([name, text, args]) => {
  const given = model[name](JSON.parse(text), ...args);
  return given && (given.patch ?? given);
}"""
DRAWN = "text => model.drawnNodes(JSON.parse(text)).map(({key, inputs, position}) => ({key, inputs, position}))"


def choose(rng: random.Random, drawn: list[dict[str, Any]]) -> tuple[str, list[Any]]:
    """An action of the model with its arguments."""
    keys = [node["key"] for node in drawn] or ["nobody"]
    place = {"x": rng.randint(-900, 900) / 2, "y": rng.randint(-900, 900)}
    edges = [
        {"source": given, "target": node["key"], "index": i} for node in drawn for i, given in enumerate(node["inputs"])
    ]
    actions: list[tuple[str, list[Any]]] = [
        ("addNode", [rng.choice(KINDS), place, rng.choice(keys)]),
        ("addNode", [rng.choice(KINDS), place, None]),
        ("connect", [rng.choice(keys), rng.choice(keys)]),
        ("move", [dict.fromkeys(rng.sample(keys, min(2, len(keys))), place)]),
        ("remove", [rng.sample(keys, 1), rng.sample(edges, min(1, len(edges)))]),
        ("remove", [[], rng.sample(edges, min(2, len(edges)))]),
    ]
    return rng.choice(actions)


def test_random_actions_are_never_refused_and_touch_nothing_else(page: Page) -> None:
    page.goto("about:blank")
    page.evaluate(LOAD, MODEL.read_text())
    rng, text, done = random.Random(4), TEXT, dict.fromkeys(("addNode", "connect", "move", "remove"), 0)
    for _ in range(300):
        name, args = choose(rng, page.evaluate(DRAWN, text))
        patch = page.evaluate(ACT, [name, text, args])
        if patch is None:
            continue
        text = apply_patch(text, patch)
        done[name] += 1
        ids = [node["id"] for node in json.loads(text)["nodes"]]
        assert UNTOUCHED in text
        assert len(ids) == len(set(ids))
        assert {given for node in json.loads(text)["nodes"] for given in node.get("inputs", [])} <= set(ids)
    assert min(done.values()) > 10, done
