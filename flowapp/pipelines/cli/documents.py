"""Reading pipeline documents from files and standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from flowapp.flags import read_flag
from ir.errors import FlowError

if TYPE_CHECKING:
    from ir.destinations import Destinations
    from ir.documents import Syntax
    from ir.parse import Parsed

SYNTAX_BY_SUFFIX: dict[str, Syntax] = {".json": "json", ".toml": "toml"}
STDIN = "-"


class UnreadableFile(FlowError):
    def __init__(self, name: str, why: str, hint: str = "Check the path and its permissions.") -> None:
        super().__init__("file.unreadable", f"{name} cannot be read: {why}.", hint=hint)


def is_file(name: str) -> bool:
    """Whether FILE_OR_ID is a file. Ids hold neither dots nor slashes."""
    return name == STDIN or "/" in name or "." in name


def read_file(name: str) -> tuple[bytes, Syntax]:
    """A document's bytes and its syntax, by suffix; what comes from `-` is JSON if it begins with a brace."""
    if name == STDIN:
        content = sys.stdin.buffer.read()
        return content, "json" if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else "toml"
    path = Path(name)
    if path.suffix not in SYNTAX_BY_SUFFIX:
        known = " or ".join(SYNTAX_BY_SUFFIX)
        raise UnreadableFile(name, f"its name does not end in {known}", "Pipelines are JSON or TOML.")
    try:
        return path.read_bytes(), SYNTAX_BY_SUFFIX[path.suffix]
    except OSError as error:
        raise UnreadableFile(name, (error.strerror or type(error).__name__).lower()) from None


def parse_offline(content: bytes, syntax: Syntax, destinations: Destinations | None = None) -> Parsed:
    """`parsePipelineIR` with what this installation allows, without Django's settings; raises InvalidPipeline."""
    from ir.parse import parsePipelineIR

    streaming = read_flag("FLOW_STREAMING_ENABLED")
    return parsePipelineIR(content, syntax=syntax, destinations=destinations, streaming=streaming)
