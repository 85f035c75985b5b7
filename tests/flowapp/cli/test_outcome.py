"""The output of commands for people."""

from __future__ import annotations

import io

from rich.console import Console

from flowapp.cli.outcome import show_lines, show_table, stderr, stdout


def test_control_characters_of_a_row_do_not_reach_the_terminal():
    console = Console(file=io.StringIO(), width=200)
    hostile = "a\x1b]52;c;cm0gLXJm\x07b\x9b31m\r\ttab"
    show_lines(console, [hostile])
    show_table(console, {"value": "VALUE"}, [{"value": hostile}])
    shown = console.file.getvalue()
    assert shown.count(r"a\x1b]52;c;cm0gLXJm\x07b\x9b31m\x0d") == 2
    assert not set(shown) & set("\x1b\x07\x9b\r")


def test_lines_are_printed_as_they_are(capsys):
    """Rich takes names between colons for emoji, and there is one that is called 100."""
    for console in (stdout(), stderr()):
        show_lines(console, ["flow.toml:100:3: :key: [bold]"])
    assert set(capsys.readouterr()) == {"flow.toml:100:3: :key: [bold]\n"}
