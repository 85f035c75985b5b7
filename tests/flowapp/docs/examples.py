"""The examples of the documentation: files, documents, SQL and `flow` commands with the lines that they print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TASKS = Path(__file__).parents[3] / "docs" / "tasks"
_BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the name of the file that it shows, and its text."""

    language: str
    file: str
    text: str

    @property
    def commands(self) -> Iterator[tuple[list[str], list[str]]]:
        """The commands of a `console` block, each with the lines that it must print."""
        for command in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            line, *printed = command.strip().splitlines()
            yield shlex.split(line), printed


def list_tasks() -> list[str]:
    return sorted(path.stem for path in TASKS.glob("*.md"))


def read_blocks(page: str) -> list[Block]:
    return [Block(*found) for found in _BLOCK.findall((TASKS / f"{page}.md").read_text())]


def is_printed(line: str, output: str) -> bool:
    """Return whether the output contains the line. Spaces may differ, and `…` matches any text."""
    pattern = ".*".join(re.escape(part) for part in " ".join(line.split()).split("…"))
    return any(re.search(pattern, " ".join(printed.split())) for printed in output.splitlines())
