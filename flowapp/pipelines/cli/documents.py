"""Read pipeline documents from files and standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flowapp.flags import read_flag
from ir.diagnostics import InvalidPipeline
from ir.errors import FlowError

if TYPE_CHECKING:
    from ir.destinations import Destinations
    from ir.documents import Syntax
    from ir.manifests.diagnostics import InvalidProject
    from ir.parse import Parsed

SYNTAX_BY_SUFFIX: dict[str, Syntax] = {".json": "json", ".toml": "toml"}
STDIN = "-"


class UnreadableFile(FlowError):
    def __init__(self, name: str, why: str, hint: str = "Check the path and its permissions.") -> None:
        super().__init__("file.unreadable", f"{name} cannot be read: {why}.", hint=hint)


def is_file(name: str) -> bool:
    """Return whether FILE_OR_ID is a file. Ids contain neither dots nor slashes."""
    return name == STDIN or "/" in name or "." in name


def read_file(name: str) -> tuple[bytes, Syntax]:
    """Return a document's bytes and its syntax, by suffix; input from `-` is JSON if it begins with a brace."""
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


def read_complete(name: str) -> tuple[bytes | dict[str, Any], Syntax]:
    """Read a document like `read_file`. If it refers to compiled transforms, return the complete document.

    Raises InvalidCompiled and UnreadableFile."""
    from ir.manifests.diagnostics import InvalidProject
    from ir.manifests.reading import complete_manifest
    from ir.transform_code.compiled import COMPILED

    content, syntax = read_file(name)
    if COMPILED.encode() not in content or name == STDIN:
        return content, syntax
    try:
        return complete_manifest(content, syntax, name, _compiled_beside(Path(name))), syntax
    except InvalidProject as error:
        raise InvalidCompiled(error) from None


def _compiled_beside(path: Path) -> dict[str, bytes]:
    """Return the compiled transforms in the folder of a document, and the sources of its project."""
    from ir.manifests.project import FOLDER, SOURCES
    from ir.transform_code.compiled import COMPILED, LANGUAGES

    here = {f"{FOLDER}/{found.name}": found for found in path.parent.glob(f"*{COMPILED}")}
    folder = path.absolute().parent.parent / SOURCES
    sources = {f"{SOURCES}/{found.name}": found for found in folder.glob("*") if found.suffix in LANGUAGES}
    return {name: found.read_bytes() for name, found in (here | sources).items()}


class InvalidCompiled(InvalidPipeline):
    """A document whose compiled transforms, in `file`, have errors."""

    def __init__(self, error: InvalidProject) -> None:
        self.file = next(found.file for found in error.diagnostics if found.is_error)
        super().__init__([found.diagnostic for found in error.diagnostics if found.file == self.file])


def parse_offline(content: bytes | dict[str, Any], syntax: Syntax, destinations: Destinations | None = None) -> Parsed:
    """Run `parsePipelineIR` with what this installation allows, without Django's settings. Raises InvalidPipeline."""
    from ir.parse import parsePipelineIR

    streaming = read_flag("FLOW_STREAMING_ENABLED")
    return parsePipelineIR(content, syntax=syntax, destinations=destinations, streaming=streaming)
