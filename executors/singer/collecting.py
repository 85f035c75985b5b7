"""Collects the rows of one stream from the messages of a tap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from executors.errors import Terminal
from executors.formats.json_rows import BadRecordError, FieldsFound, read_row
from executors.formats.limits import refuse_too_many_columns
from executors.model import SourceField
from executors.singer.messages import Message, NewVersion, Record, Schema, State
from executors.singer.schemas import fields_of, merge_fields


@dataclass(slots=True)
class Collector:
    """The columns of one stream, and the state, as far as the messages go. `names` are the names of the stream in
    messages."""

    tap: str
    names: Collection[str]
    state: str | None = None
    others: Counter[str] = field(default_factory=Counter)
    """The rows of other streams, which are not read."""
    new_versions: int = 0
    has_schema: bool = False
    _fields: tuple[SourceField, ...] = ()
    _known: set[str] = field(default_factory=set)
    _described: set[str] = field(default_factory=set)
    _extra: FieldsFound = field(default_factory=FieldsFound)

    def add(self, message: Message) -> str | None:
        """Take a message; return the text of the row if it is one of the stream. Raises Terminal
        `singer.schema_missing`."""
        match message:
            case Record():
                return self._record(message)
            case Schema():
                self._schema(message)
            case State():
                self.state = message.text
            case NewVersion():
                self.new_versions += message.stream in self.names
        return None

    @property
    def fields(self) -> tuple[SourceField, ...]:
        """The columns of the schema."""
        return self._fields

    @property
    def extra(self) -> tuple[SourceField, ...]:
        """The columns that only rows have: texts or JSON."""
        return tuple(field for field in self._extra.fields() if field.name not in self._known)

    def _schema(self, message: Schema) -> None:
        self._described.add(message.stream)
        if message.stream in self.names:
            self.has_schema = True
            self._fields = merge_fields(self._fields, fields_of(message.schema))
            self._known = {field.name for field in self._fields}
            refuse_too_many_columns(f"The stream {message.stream}", len(self._fields))

    def _record(self, message: Record) -> str | None:
        if message.stream not in self._described:
            raise Terminal(
                "singer.schema_missing",
                f"The tap {self.tap} sends rows of the stream {message.stream!r} before its schema.",
                hint="The tap is defective: a SCHEMA must come first. Use another version of it.",
            )
        if message.stream not in self.names:
            self.others[message.stream] += 1
            return None
        self._find_extra(message.text)
        return message.text

    def _find_extra(self, text: str) -> None:
        try:
            row, nested = read_row(text)
        except BadRecordError:
            return  # the reader of the rows rejects it, with the reason
        if not row.keys() <= self._known:
            self._extra.add(row, nested)
            refuse_too_many_columns("The stream", len(self._known) + self._extra.count)
