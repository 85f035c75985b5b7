"""Count a user's actions with mouse and keyboard."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator


class Hand:
    """Clicks, and fields that are typed into. A choice from a list takes two clicks: one opens it, one chooses."""

    def __init__(self) -> None:
        self.clicks = self.typed = 0

    def click(self, what: Locator) -> None:
        self.clicks += 1
        what.click()

    def choose(self, what: Locator, value: str) -> None:
        self.clicks += 2
        what.select_option(value)

    def choose_file(self, what: Locator, path: Path) -> None:
        """Choose a file. The file dialog belongs to the operating system, so it counts as one more click."""
        self.clicks += 2
        what.set_input_files(path)

    def type(self, what: Locator, text: str) -> None:
        """Click into a field, type, and leave it."""
        self.clicks += 1
        self.typed += 1
        what.fill(text)
        what.press("Tab")
