"""What people are shown by commands."""

from __future__ import annotations

import io

from rich.console import Console

from flowapp.cli.outcome import show_lines, show_table


def test_a_terminal_obeys_nothing_that_stands_in_a_row():
    console = Console(file=io.StringIO(), width=200)
    hostile = "a\x1b]52;c;cm0gLXJm\x07b\x9b31m\r\ttab"
    show_lines(console, [hostile])
    show_table(console, {"value": "VALUE"}, [{"value": hostile}])
    shown = console.file.getvalue()
    assert shown.count(r"a\x1b]52;c;cm0gLXJm\x07b\x9b31m\x0d") == 2
    assert not set(shown) & set("\x1b\x07\x9b\r")
