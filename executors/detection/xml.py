"""The record path of an XML document, and the elements that its records repeat."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from lxml import etree
from pydantic import ValidationError

from executors.detection.model import GivenSettings
from executors.errors import InvalidContent, Terminal
from executors.formats.safe_xml import PARSER, malformed, refuse_type_definition
from executors.formats.xml_records import XmlRecords, text_of
from ir.formats import Xml

_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NAME = r"[^\W\d][\w.:-]*"
_ATTRIBUTE = rf"""\s+{_NAME}\s*=\s*(?:"[^"<]*"|'[^'<]*')"""
_START = re.compile(rf"\s*<(?:\?xml\s|!--|!DOCTYPE\s|{_NAME}(?:{_ATTRIBUTE})*\s*/?>\s*(?:<|\Z))")
"""The start of a document. Text after the first tag is rather a table of texts."""
_LOOKED_AT = 4096

Path = tuple[str, ...]


def is_xml(head: bytes) -> bool:
    """Return whether a file with these first bytes begins like an XML document."""
    encoding = next((name for bom, name in _BOMS.items() if head.startswith(bom)), "utf-8")
    return _START.match(head[:_LOOKED_AT].decode(encoding, errors="replace")) is not None


def find_records(head: bytes, name: str, given: GivenSettings) -> Xml:
    """Return the format with the given record path, or with the first path at which several elements are. Raises
    Failure."""
    seen = _Seen()
    for events in _parsed(head, name):
        for event, element in events:
            seen.add(event, element, name)
    if seen.root is None:
        raise malformed(name, "it has no element")
    path = given.record_path or "/".join(seen.record_path())
    try:
        fmt = Xml.read({"type": "xml", "recordPath": path})
    except ValidationError as error:
        raise Terminal(
            "detection.setting_unusable",
            f"The record path {path!r} is not a list of element names with slashes between them.",
            hint="Write the elements from the root to that of a record, such as orders/order.",
        ) from error
    repeated = seen.repeated_below(fmt.steps) if given.repeated is None else given.repeated
    return fmt.model_copy(update={"repeated": sorted(repeated)})


def whole_elements(head: bytes, name: str, fmt: Xml) -> bytes:
    """Return a document with the complete records in the head of a longer one. Raises InvalidContent if there is
    none."""
    records: list[str] = []
    with suppress(InvalidContent):  # the head ends within an element
        records.extend(text_of(element) for element in XmlRecords([head], fmt, name))
    if not records:
        raise InvalidContent(
            "detection.no_record",
            f"The first {len(head):,} bytes of {name} do not hold one whole record at {fmt.record_path}.",
            hint="Correct the record path.",
        )
    outer = ["any" if step == "*" else step for step in fmt.steps[:-1]]
    start, end = "".join(f"<{step}>" for step in outer), "".join(f"</{step}>" for step in reversed(outer))
    return (start + "".join(records if outer else records[:1]) + end).encode()


def _parsed(head: bytes, name: str) -> Iterator[Any]:
    """Yield the events of the elements of a document that may be cut off."""
    parser = etree.XMLPullParser(events=("start", "end"), **PARSER)
    try:
        parser.feed(head)
    except etree.XMLSyntaxError as error:
        events = list(parser.read_events())
        if not events:
            raise malformed(name, str(error)) from error
        yield events
        return
    yield parser.read_events()


class _Seen:
    """The elements by their paths."""

    def __init__(self) -> None:
        self.root: str | None = None
        self._path: list[str] = []
        self._counts: Counter[Path] = Counter()
        self._parents: set[Path] = set()
        self._below: list[Counter[str]] = []
        self._repeated: set[Path] = set()

    def add(self, event: str, element: Any, name: str) -> None:
        if event == "end":
            self._path.pop()
            self._below.pop()
            return
        tag = etree.QName(element).localname
        if self.root is None:
            self.root = tag
            refuse_type_definition(element, name)
        self._path.append(tag)
        path = tuple(self._path)
        self._counts[path] += 1
        if self._below:
            self._parents.add(path[:-1])
            self._below[-1][tag] += 1
            if self._below[-1][tag] > 1:
                self._repeated.add(path)
        if element.attrib:
            self._parents.add(path)
        self._below.append(Counter())

    def record_path(self) -> Path:
        """Return the outermost path of several elements that have elements or attributes; without one, that of several
        elements of text; else that of the first element below the root, or the root."""
        below_root = [path for path in self._counts if len(path) > 1]
        by_depth = sorted(below_root, key=lambda path: (len(path), -self._counts[path]))
        several = [path for path in by_depth if self._counts[path] > 1]
        candidates = [path for path in several if path in self._parents] or several
        candidates = candidates or [path for path in by_depth if path in self._parents]
        return candidates[0] if candidates else (str(self.root),)

    def repeated_below(self, steps: Sequence[str]) -> set[str]:
        """Return the names of elements that are repeated within one element, below the record path."""
        return {
            path[-1]
            for path in self._repeated
            if len(path) > len(steps) and all(step in ("*", tag) for step, tag in zip(steps, path, strict=False))
        }
