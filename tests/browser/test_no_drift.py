"""Form, canvas and JSON tab show one draft: random edits by all three, undo and redo, compared after every step."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from flowapp.pipelines.models import Draft
from tests.browser.test_editor_islands import Editor
from tests.properties import examples

pytestmark = pytest.mark.django_db(transaction=True)

STEPS = examples(40)
TRIES = 100
"""The number of checks of the page, 200 ms apart, until all requests have ended."""
KINDS = ("Source", "Transform", "Validate", "Target")

# All that the page shows of the draft, whichever tab is open.
SHOWN = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  return {
    outline: all("#flow-panel .flow-outline a").slice(1).map((link) => link.textContent.trim()),
    form: Object.fromEntries(all("#flow-panel input[id^=f_], #flow-panel select[id^=f_]")
      .filter((field) => field.name === "value" && field.type !== "checkbox").map((field) => [field.id, field.value])),
    nodes: all(".react-flow__node").map((node) => node.dataset.id).sort(),
    edges: all(".react-flow__edge").map((edge) => edge.dataset.id).sort(),
  };
}"""
TYPED = "() => [...document.querySelectorAll('.cm-line')].map(line => line.textContent).join('\\n')"


class Surfaces:
    """The editor with the actions and the display of each of its three surfaces."""

    def __init__(self, page: Page, rng: random.Random) -> None:
        self.page, self.rng = page, rng
        # So high that the JSON tab has all of its lines in the page.
        page.set_viewport_size({"width": 1280, "height": 4000})
        self.editor = Editor(page)
        self.tab, self.node = "visual", ""

    def open(self, tab: str, node: str = "") -> None:
        self.tab, self.node = tab, node
        self.page.goto(f"/w/alices-team/pipelines/numbers/?tab={tab}&node={node}")
        self.page.locator({"visual": ".flow-canvas", "json": ".flow-json-status[data-state=saved]"}[tab]).wait_for()

    @property
    def draft(self) -> Draft:
        return self.editor.draft

    @property
    def ids(self) -> list[str]:
        return [node["id"] for node in json.loads(self.draft.text)["nodes"]]

    # --- edits --------------------------------------------------------------------------------------------------

    def by_form(self) -> None:
        """Another value in a field of the form of some node."""
        self.open(self.rng.choice(("visual", "json")), self.rng.choice([i for i in self.ids if i in ("files", "load")]))
        field = self.page.locator(f"#flow-panel input[id$=_2f_{'path' if self.node == 'files' else 'table'}]")
        field.fill(f"place{self.rng.randint(0, 9999)}")
        field.press("Tab")

    def by_canvas(self) -> None:
        """A node more."""
        self.open("visual")
        tools = self.page.get_by_role("toolbar", name="Add nodes")
        tools.get_by_role("button", name=self.rng.choice(KINDS)).click()

    def by_moving(self) -> None:
        """A node elsewhere, by keyboard."""
        self.open("visual")
        self.editor.focus(self.rng.choice(self.ids))
        self.page.keyboard.press(self.rng.choice(("Alt+ArrowDown", "Alt+ArrowRight")))

    def by_deleting(self) -> None:
        """Delete a node with its edges; the nodes that the forms use stay."""
        self.open("visual")
        rest = [ident for ident in self.ids if ident not in ("files", "load")]
        if rest:
            self.editor.focus(self.rng.choice(rest))
            self.page.keyboard.press("Delete")
        else:
            self.by_canvas()

    def by_typing(self) -> None:
        """Another name of the pipeline, typed over the old one."""
        self.open("json")
        name = json.loads(self.draft.text)["metadata"]["name"]
        self.page.get_by_text(f'"{name}"', exact=True).first.dblclick()
        self.page.keyboard.type(f"Name{self.rng.randint(0, 9999)}")

    def by_undo(self) -> None:
        self._press("undo")

    def by_redo(self) -> None:
        self._press("redo")

    def _press(self, which: str) -> None:
        button = self.page.locator(f"#flow-{which}")
        if button.is_enabled():
            button.click()

    # --- comparison ---------------------------------------------------------------------------------------------------

    def settle(self, before: tuple[int, str], may_stay: bool) -> None:
        """Until the draft has moved on and the page shows it, or the patience is over."""
        for _ in range(TRIES):
            moved = may_stay or (self.draft.position, self.draft.text) != before
            if moved and not self.drift():
                return
            self.page.wait_for_timeout(200)
        raise AssertionError(self.drift() or "the edit did not arrive")

    def drift(self) -> dict[str, Any]:
        """Return the differences between a surface and the draft: {what: (draft, shown)}."""
        text = self.draft.text
        document = json.loads(text)
        shown = self.page.evaluate(SHOWN)
        expected = {"outline": self.ids, **(drawn(document) if self.tab == "visual" else {})}
        found = {what: (value, shown[what]) for what, value in expected.items() if shown[what] != value}
        if self.tab == "json" and (typed := self.page.evaluate(TYPED)) != text:
            found["text"] = (text, typed)
        for ident, value in shown["form"].items():
            stands = value_of(document, ident)
            if value != ("" if stands is None else str(stands)):
                found[ident] = (stands, value)
        return found


def drawn(document: dict[str, Any]) -> dict[str, list[str]]:
    """Return what the canvas must show."""
    ids = [node["id"] for node in document["nodes"]]
    edges = [
        f"{given}>{node['id']}:{i}" for node in document["nodes"] for i, given in enumerate(node.get("inputs", []))
    ]
    return {"nodes": sorted(ids), "edges": sorted(edges)}


def value_of(document: Any, ident: str) -> Any:
    """Return the value at the position of a form's field; None if there is none."""
    for step in ident.removeprefix("f_2f_").split("_2f_"):
        if isinstance(document, list):
            document = document[int(step)]
        else:
            document = document.get(step) if isinstance(document, dict) else None
    return document


@pytest.mark.parametrize("seed", [7])
def test_no_surface_drifts_from_the_draft(page: Page, seed: int) -> None:
    surfaces = Surfaces(page, random.Random(seed))
    edits: list[Callable[[Surfaces], None]] = [
        Surfaces.by_form,
        Surfaces.by_canvas,
        Surfaces.by_moving,
        Surfaces.by_deleting,
        Surfaces.by_typing,
        Surfaces.by_undo,
        Surfaces.by_redo,
    ]
    surfaces.open("visual")
    chosen = [*edits, *surfaces.rng.choices(edits, k=STEPS - len(edits))]
    for edit in chosen:
        before = surfaces.draft.position, surfaces.draft.text
        edit(surfaces)
        surfaces.settle(before, may_stay=edit in (Surfaces.by_undo, Surfaces.by_redo))
