"""Parses XML as a stream: without entities, network or documents of unbounded depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lxml import etree

from executors.errors import InvalidContent

PARSER: dict[str, Any] = {
    "resolve_entities": False,
    "huge_tree": False,
    "no_network": True,
    "load_dtd": False,
    "remove_comments": True,
    "remove_pis": True,
}
"""The settings of lxml's parsers for content of unknown origin."""


def elements(stream: Any, tags: Sequence[str], name: str) -> Iterator[Any]:
    """Yield the elements with these tags at their end, and free each one after it. `{*}` before a tag stands for any
    namespace. Raises InvalidContent for XML that is malformed, too deep, or has a document type definition, whose
    entities could expand without bounds."""
    parser = etree.iterparse(stream, events=("end",), tag=tags, **PARSER)
    try:
        for _, element in parser:
            refuse_type_definition(element, name)
            yield element
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
    except etree.XMLSyntaxError as error:
        raise malformed(name, str(error)) from error


def refuse_type_definition(element: Any, name: str) -> None:
    """Raise InvalidContent for an element of a document with a document type definition."""
    if element.getroottree().docinfo.internalDTD is not None:
        raise malformed(name, "it has a document type definition, which is not read")


def malformed(name: str, why: str) -> InvalidContent:
    return InvalidContent(
        "source.malformed", f"{name} cannot be read as XML: {why}.", hint="Correct the file where it is made."
    )
