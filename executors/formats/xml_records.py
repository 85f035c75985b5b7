"""Reads XML: each element at the record path is a record. A file is one split, and is parsed as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from lxml import etree

from executors.errors import InvalidContent
from executors.formats.batches import BadRecords, Batches, Framer, text_schema
from executors.formats.columns import declared_fields, require_columns
from executors.formats.compression import TextContent
from executors.formats.files import BLOCK_BYTES, LOCAL_FILES, FileStore, HashedBlocks, open_verified
from executors.formats.json_rows import BadRecordError, FieldsFound, Row, columns_of
from executors.formats.limits import refuse_too_many_columns, rows_for_cells
from executors.formats.safe_xml import PARSER, malformed, refuse_type_definition
from executors.formats.splits import whole_file
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.formats import Xml
from ir.nodes import SourceColumn

MOST_BYTES = 16 << 20
"""The maximum size of a record, and of what is between two records. In memory, XML takes many times its size."""

_FEED_BYTES = 64 << 10
_INSTANCE = "{http://www.w3.org/2001/XMLSchema-instance}"
_NIL = frozenset({"true", "1"})
_TEXT = "_value"
"""The name of the text of an element that also has attributes or elements."""


def scan(
    file: SourceFile,
    fmt: Xml,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> FileScan:
    """Stream a file once, as one split. Raises Terminal `source.malformed` for XML that cannot be parsed."""
    found, records = FieldsFound(), 0
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        stream.seek(0)
        blocks = HashedBlocks(stream, block_bytes)
        elements = XmlRecords(content.expand(blocks), fmt, file.name)
        for element in elements:
            records += 1
            _add(found, element, fmt, file.name)
    fields = found.fields() or declared_fields(declared)
    require_columns(file.name, [f.name for f in fields], declared)
    splits = whole_file(file, blocks.sha256, records)
    scan = FileScan(file, blocks.sha256, records, fields, splits, elements.warnings(), is_blank=not records)
    return scan.with_checksums(blocks.checksums)


def scan_head(
    file: SourceFile,
    fmt: Xml,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    most_bytes: int,
) -> FileScan:
    """Scan the records that end within the first bytes of a longer file. The split is the whole file, and its reader
    stops after them. Raises as `scan`."""
    found, records = FieldsFound(), 0
    with store.open(file) as stream:
        elements = XmlRecords(TextContent.of(stream, file).blocks(), fmt, file.name)
        for element in elements:
            if records and elements.size > most_bytes:
                break
            records += 1
            _add(found, element, fmt, file.name)
    require_columns(file.name, [f.name for f in found.fields()], declared)
    return FileScan(file, "", records, found.fields(), (Split(file, "", 0, file.size, 1, records, None),))


def read(
    split: Split,
    fmt: Xml,
    fields: Sequence[SourceField],
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> Batches:
    """Return the records as text columns. A record that repeats an element becomes a bad row, unless the format lists
    the element as repeated. Raises Transient `source.changed`."""
    framer, names = Framer(split, text_schema(fields)), [f.name for f in fields]
    most_rows = rows_for_cells(len(names))
    with open_verified(split, store) as stream:
        content = TextContent.of(stream, split.file)
        elements = XmlRecords(content.blocks(block_bytes), fmt, split.file.name)
        rows: list[Row] = []
        bad, size, start = BadRecords(), 0, 0
        for element in elements:
            try:
                rows.append(row_of(element, fmt).values)
            except BadRecordError as error:
                bad.add(size, str(error), text_of(element))
            size += 1
            if size >= most_rows or elements.size - start >= block_bytes:
                yield framer.batch(size, columns_of(rows, names), bad)
                rows, bad, size, start = [], BadRecords(), 0, elements.size
        if size:
            yield framer.batch(size, columns_of(rows, names), bad)


def _add(found: FieldsFound, element: Any, fmt: Xml, name: str) -> None:
    try:
        row = row_of(element, fmt)
    except BadRecordError:
        return
    found.add(row.values, row.nested)
    refuse_too_many_columns(name, found.count)


# --- records -----------------------------------------------------------------------------------------------------


class XmlRecords:
    """The elements at the record path. Each one can be used until the next one is taken; then it is freed. `size` is
    the number of bytes that were parsed."""

    def __init__(self, blocks: Iterable[bytes], fmt: Xml, name: str) -> None:
        self._blocks, self._steps, self._name = blocks, fmt.steps, name
        self._root: Any = None
        self._count = 0
        self.size = 0

    def __iter__(self) -> Iterator[Any]:
        """Raises InvalidContent, also for a document whose root is not the first step of the path."""
        last = "{*}*" if self._steps[-1] == "*" else f"{{*}}{self._steps[-1]}"
        parser = etree.XMLPullParser(events=("end",), tag=last, **PARSER)
        since = 0
        for block in self._blocks:
            for start in range(0, len(block), _FEED_BYTES):
                piece = block[start : start + _FEED_BYTES]
                self._feed(parser, piece)
                self.size += len(piece)
                since += len(piece)
                for element in self._ended(parser):
                    since = 0
                    yield element
                if since > MOST_BYTES:
                    raise self._too_long()
        if not self.size:
            return
        try:
            self._root = parser.close()
        except etree.XMLSyntaxError as error:
            raise malformed(self._name, str(error)) from error
        yield from self._ended(parser)
        self._require_root(self._root)

    def warnings(self) -> tuple[str, ...]:
        """Return a warning for a document without a record although it has elements. Call it at the end."""
        if self._count or self._root is None or not len(self._root):
            return ()
        shown, path = etree.QName(self._root[0]).localname, "/".join(self._steps)
        root = etree.QName(self._root).localname
        return (f"No element is at the record path {path}; the first element below the root is {root}/{shown}.",)

    def _feed(self, parser: Any, piece: bytes) -> None:
        try:
            parser.feed(piece)
        except etree.XMLSyntaxError as error:
            raise malformed(self._name, str(error)) from error

    def _ended(self, parser: Any) -> Iterator[Any]:
        for _, element in parser.read_events():
            ancestors = list(element.iterancestors())
            if len(ancestors) != len(self._steps) - 1 or not self._is_at_path([*reversed(ancestors), element]):
                continue
            if not self._count:
                refuse_type_definition(element, self._name)
            self._count += 1
            yield element
            element.clear(keep_tail=False)
            for freed in (element, *ancestors):
                while freed.getprevious() is not None:
                    freed.getparent().remove(freed.getprevious())

    def _is_at_path(self, elements: Sequence[Any]) -> bool:
        return all(
            step in ("*", etree.QName(element).localname) for step, element in zip(self._steps, elements, strict=True)
        )

    def _require_root(self, root: Any) -> None:
        refuse_type_definition(root, self._name)
        found = etree.QName(root).localname
        if self._steps[0] not in ("*", found):
            raise InvalidContent(
                "source.record_path_unknown",
                f"The root of {self._name} is {found}, but the record path begins with {self._steps[0]}.",
                hint="Correct the record path of the source's format. It begins with the root element.",
            )

    def _too_long(self) -> InvalidContent:
        path = "/".join(self._steps)
        return InvalidContent(
            "source.record_too_long",
            f"{self._name} has more than {MOST_BYTES >> 20} MB of XML without the end of a record at {path}.",
            hint="Correct the record path of the source's format, so that it names the element of one record.",
        )


@dataclass(frozen=True, slots=True)
class XmlRow:
    """The values of a record, and the names of those that are JSON."""

    values: Row
    nested: frozenset[str]


def row_of(element: Any, fmt: Xml) -> XmlRow:
    """Return the attributes and elements of a record. An element with attributes, with elements, or that the format
    lists as repeated becomes JSON. Raises BadRecordError for an element that is repeated without being listed."""
    values: Row = {}
    nested = set()
    for name, value in _members(element, frozenset(fmt.repeated)):
        if isinstance(value, dict | list):
            nested.add(name)
            values[name] = json.dumps(value, ensure_ascii=False)
        else:
            values[name] = value
    return XmlRow(values, frozenset(nested))


def _members(element: Any, repeated: frozenset[str]) -> Iterator[tuple[str, Any]]:
    found: dict[str, Any] = {}
    for attribute, value in _attributes(element):
        name = f"_{etree.QName(attribute).localname}"
        if name in found:
            raise BadRecordError(f"two attributes have the name {name[1:]!r}; namespaces are not compared")
        found[name] = value
    attributes = frozenset(found)
    for child in element:
        name = etree.QName(child).localname
        value = _value(child, repeated)
        if name in attributes:
            raise BadRecordError(f"the element {name!r} stands beside the attribute {name[1:]!r}")
        if name in repeated:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise BadRecordError(f"the element {name!r} is repeated; the format does not list it as repeated")
        else:
            found[name] = value
    text = "".join(chain([element.text or ""], (child.tail or "" for child in element)))
    if text.strip() or not found:
        if _TEXT in found:
            raise BadRecordError(f"the element {_TEXT!r} stands beside a text")
        found[_TEXT] = None if _is_nil(element) else text
    yield from found.items()


def _value(element: Any, repeated: frozenset[str]) -> Any:
    if len(element) or any(_attributes(element)):
        return dict(_members(element, repeated))
    return None if _is_nil(element) else element.text or ""


def _is_nil(element: Any) -> bool:
    """Return whether an element stands for NULL. Raises BadRecordError if it has content nevertheless."""
    if element.get(f"{_INSTANCE}nil", "").strip() not in _NIL:
        return False
    if element.text:
        raise BadRecordError(f"the element {etree.QName(element).localname!r} is nil but has content")
    return True


def _attributes(element: Any) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in element.attrib.items() if not name.startswith(_INSTANCE))


def text_of(element: Any) -> str:
    """Return the XML text of an element."""
    return str(etree.tostring(element, encoding="unicode", with_tail=False))
