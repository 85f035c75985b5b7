"""Checks for every page in a browser: no findings of axe, no console errors, no horizontal scrolling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Page

in_all_looks = pytest.mark.parametrize(
    ("colours", "width"),
    [
        ("light", 1280),
        ("dark", 390),
        pytest.param("light", 390, marks=pytest.mark.slow),
        pytest.param("dark", 1280, marks=pytest.mark.slow),
    ],
)
"""Both colours and both widths in the fast tests, the other two pairs of them in the slow ones."""

AXE = Path(__file__).parent / "axe.min.js"
LAYOUT = Path(__file__).parent / "layout.js"


class Complaints(list[str]):
    """The errors that the browser reports from now on: refused scripts and styles, missing files, uncaught errors."""

    def __init__(self, page: Page) -> None:
        super().__init__()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.append(message.text)


def show_as(page: Page, colours: Any, width: int) -> None:
    page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 900})


def find_barriers(page: Page, within: str = "html") -> list[str]:
    """Return the findings of axe in a part of the page, as "rule: places"."""
    page.evaluate(AXE.read_text())
    found: list[dict[str, Any]] = page.evaluate("within => axe.run(within).then(result => result.violations)", within)
    return [f"{rule['id']}: {[' '.join(node['target']) for node in rule['nodes'][:5]]}" for rule in found]


def find_misplaced(page: Page) -> list[str]:
    """Return elements that make the page scroll sideways, leave their container or cover another control."""
    return page.evaluate(LAYOUT.read_text())


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")
