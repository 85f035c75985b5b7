"""Reads JSON: one array of objects in UTF-8, element by element without loading the whole file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from executors.errors import InvalidContent
from executors.formats.batches import BadRecords, Batches, Framer, text_schema
from executors.formats.columns import declared_fields, require_columns
from executors.formats.compression import TextContent
from executors.formats.encodings import UNDECODABLE, bom_length, decoded, escaped
from executors.formats.files import BLOCK_BYTES, LOCAL_FILES, FileStore, HashedBlocks, open_verified
from executors.formats.json_rows import BadRecordError, FieldsFound, Row, columns_of, read_row
from executors.formats.limits import refuse_too_many_columns, rows_for_cells
from executors.formats.records import MOST_RECORD_BYTES, record_too_long
from executors.formats.splits import whole_file
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.formats import Json
from ir.nodes import SourceColumn

MOST_GROWTH = 16 << 20
"""The maximum number of characters by which a long value is extended at a time."""

_SPACE = " \t\n\r"
_SKIM = json.JSONDecoder(
    object_pairs_hook=lambda pairs: None, parse_int=str, parse_float=str, parse_constant=lambda word: None
)


def scan(
    file: SourceFile,
    fmt: Json,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> FileScan:
    """Stream a file once, as one split. Raises Terminal `source.malformed` for an invalid or truncated array."""
    found, records = FieldsFound(), 0
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        bom_length(content.head(4), file.name)
        stream.seek(0)
        blocks = HashedBlocks(stream, block_bytes)
        for text in elements(decoded(content.expand(blocks)), file.name):
            records += 1
            row, nested, _ = _row(text)
            if row is not None:
                found.add(row, nested)
                refuse_too_many_columns(file.name, found.count)
    fields = found.fields() or declared_fields(declared)
    require_columns(file.name, [f.name for f in fields], declared)
    splits = whole_file(file, blocks.sha256, records)
    scan = FileScan(file, blocks.sha256, records, fields, splits, is_blank=not records)
    return scan.with_checksums(blocks.checksums)


def scan_head(
    file: SourceFile,
    fmt: Json,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    most_bytes: int,
) -> FileScan:
    """Scan the elements that end within the first bytes of a longer file. The split is the whole file, and its reader
    stops after them. Raises as `scan`."""
    found, records, size = FieldsFound(), 0, 0
    with store.open(file) as stream:
        content = TextContent.of(stream, file)
        bom_length(content.head(4), file.name)
        for text in elements(decoded(content.blocks()), file.name):
            size += len(text.encode("utf-8", "surrogateescape"))
            if records and size > most_bytes:
                break
            records += 1
            row, nested, _ = _row(text)
            if row is not None:
                found.add(row, nested)
                refuse_too_many_columns(file.name, found.count)
    require_columns(file.name, [f.name for f in found.fields()], declared)
    return FileScan(file, "", records, found.fields(), (Split(file, "", 0, file.size, 1, records, None),))


def read(
    split: Split,
    fmt: Json,
    fields: Sequence[SourceField],
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> Batches:
    """Return the elements as text columns. An element that is not an object becomes a bad row. Raises Transient
    `source.changed`."""
    framer, names = Framer(split, text_schema(fields)), [f.name for f in fields]
    with open_verified(split, store) as stream:
        blocks = TextContent.of(stream, split.file).blocks(block_bytes)
        for texts in _grouped(elements(decoded(blocks), split.file.name), block_bytes, rows_for_cells(len(names))):
            good, bad = [], BadRecords()
            for index, text in enumerate(texts):
                row, _, reason = _row(text)
                if row is None:
                    bad.add(index, reason, escaped(text.encode("utf-8", "surrogateescape")))
                else:
                    good.append(row)
            yield framer.batch(len(texts), columns_of(good, names), bad)


def _row(text: str) -> tuple[Row | None, frozenset[str], str]:
    """Return an element's row and its nested keys, or None and the reason."""
    if UNDECODABLE in text:
        return None, frozenset(), "not valid utf-8"
    try:
        return *read_row(text), ""
    except BadRecordError as error:
        return None, frozenset(), str(error)


def _grouped(texts: Iterable[str], most: int, most_rows: int) -> Iterator[list[str]]:
    group, size = [], 0
    for text in texts:
        group.append(text)
        size += len(text)
        if size >= most or len(group) >= most_rows:
            yield group
            group, size = [], 0
    if group:
        yield group


def elements(blocks: Iterable[str], name: str) -> Iterator[str]:
    """Yield the JSON text of each element of an array that is given in blocks of text."""
    text = _TextBuffer(blocks, name)
    text.take("[")
    if text.peek() == "]":
        text.take("]")
    else:
        while True:
            yield text.value()
            if text.peek() == "]":
                text.take("]")
                break
            text.take(",")
    if text.peek():
        raise text.malformed("unexpected text after the array")


class _TextBuffer:
    """A window of a long text. It grows when a value needs more of the text."""

    def __init__(self, blocks: Iterable[str], name: str) -> None:
        self._blocks, self._name = iter(blocks), name
        self._text, self._at, self._before, self._values = "", 0, 0, 0

    def peek(self) -> str:
        """Return the next character that is not white space, '' at the end."""
        while True:
            rest = self._text[self._at : self._at + 1]
            if rest and rest not in _SPACE:
                return rest
            if rest:
                self._at += 1
            elif not self._grow():
                return ""

    def take(self, sign: str) -> None:
        if self.peek() != sign:
            raise self.malformed(f"{sign} expected")
        self._at += 1

    def value(self) -> str:
        """Return the exact text of the next value."""
        self.peek()
        while True:
            end, why = self._end_of_value()
            # A value that ends with the window may continue after it.
            if end is not None and end < len(self._text):
                break
            if not self._grow():
                raise self.malformed(why or "the file is truncated")
        text, self._at = self._text[self._at : end], end
        self._values += 1
        return text

    def _end_of_value(self) -> tuple[int | None, str]:
        try:
            return _SKIM.scan_once(self._text, self._at)[1], ""  # type: ignore[attr-defined]  # typeshed lacks it
        except StopIteration:
            return None, "expected a value"
        except RecursionError:
            raise self.malformed("it is nested too deeply") from None
        except json.JSONDecodeError as error:
            return None, error.msg

    def _grow(self) -> bool:
        """Read more text, at least as much as the window holds, so that long values are not parsed too often."""
        held = self._text[self._at :]
        # The size in memory: one character beyond Latin-1 makes a text two or four times as large.
        if held.__sizeof__() > 2 * MOST_RECORD_BYTES or len(held) > MOST_RECORD_BYTES:
            raise record_too_long(self._name)
        more, size = [], 0
        for block in self._blocks:
            more.append(block)
            size += len(block)
            if size > min(len(held), MOST_GROWTH):
                break
        self._before += self._at
        self._text, self._at = held + "".join(more), 0
        return size > 0

    def malformed(self, why: str) -> InvalidContent:
        return InvalidContent(
            "source.malformed",
            f"{self._name} is not a JSON array: {why} after record {self._values}, "
            f"at character {self._before + self._at + 1}.",
            hint="Send the file again, or use the format jsonl if it holds one object a line.",
        )
