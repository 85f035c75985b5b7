"""The input of one pass, whatever its source, and the part of it that is sent to the tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Literal, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc

from executors.changes import ChangesRead
from executors.formats import FORMATS, READ_TOGETHER
from executors.formats.batches import HIDDEN, Batches
from executors.formats.closing import closed_after
from executors.formats.files import FileStore
from executors.formats.format_mismatches import mismatches_of
from executors.formats.small_files import is_small, read_scanned
from executors.formats.unions import union_of_fields
from executors.model import FileScan, SourceField, SourceState, Split
from executors.postgres.watermark_types import WatermarkType
from executors.report import RunWarning
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source, SourceColumn
from ir.types import STRING
from ir.words import counted


class Part(Protocol):
    """A unit of reading of one task. Its size is `end - start`."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


@dataclass(frozen=True, slots=True)
class QueryPart:
    """All rows of a source that one statement reads, at one moment."""

    statement: str
    start: int = 0
    end: int = 1


class PartReader(Protocol):
    """Reads parts. It is pickled and sent to tasks, so it contains plain data and no plain-text secret."""

    def read(self, part: Any, fields: Sequence[SourceField]) -> Batches:
        """Return batches with the hidden columns of `formats.batches`, then the fields by name."""


@runtime_checkable
class PartsReader(PartReader, Protocol):
    """A reader that reads several parts in less time than each alone."""

    def read_all(self, parts: Iterable[Any], fields: Sequence[SourceField]) -> Batches:
        """Return the rows of parts, in order. A batch may hold rows of several parts."""


def read_parts(reader: PartReader, parts: Iterable[Any], fields: Sequence[SourceField]) -> Batches:
    """Return the rows of parts, in order."""
    return reader.read_all(parts, fields) if isinstance(reader, PartsReader) else _read_each(reader, parts, fields)


def _read_each(reader: PartReader, parts: Iterable[Any], fields: Sequence[SourceField]) -> Batches:
    for part in parts:
        with closed_after(reader.read(part, fields)) as batches:
            yield from batches


@dataclass(frozen=True, slots=True)
class Origin:
    """A file, or a snapshot of a database: its position in the source's order, its displayed name, and its identity.

    `is_unit` marks a load unit, which is loaded only once. `records` is the number of rows that a scan counted.
    `source` is the source node. `state` is the state of the source once these rows are loaded, if it has one.
    """

    seq: int
    name: str
    sha256: str
    is_unit: bool = True
    records: int | None = None
    state: SourceState | None = None
    source: str = field(kw_only=True)


def warn_of_blank(node: str, names: Sequence[str]) -> RunWarning:
    """Return the warning that these files of a source are blank."""
    more = f" and {counted(len(names) - 3, 'other file')}" if len(names) > 3 else ""
    return RunWarning("source.blank", node, f"No rows and no columns: {', '.join(names[:3])}{more}.")


@dataclass(frozen=True, slots=True)
class Bound:
    """The lowest value of a column that a target needs. Rows with NULL in that column are read too."""

    column: str
    type: WatermarkType
    value: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The input that a source provides for one target.

    `records` is the number of rows counted before; None if the reader counts them and ends each part with a trailer.
    `on_bad_row` says how unreadable records are treated, `keeps_order` whether a later record is a newer one.
    `with_bound` returns a reading without the rows below a bound, as far as the source can filter. `find_mismatches`
    lists settings of the source that do not fit some of the origins. A blank source (`is_blank`) has neither rows nor
    column names. `release` must be called after reading; it frees resources of the source that no other reader uses.
    `references` are the readings for the joins of the path, by the ids of their sources. `size` is the size of the
    source in bytes, None if unknown. `is_empty` returns whether there is no row; it may query the source. `changes` are
    those of a followed table, of which the rows are one part. `is_nothing` means that nothing is to be committed, not
    even a state. `cursor_sum` is the sum of the hashes of the cursor of a chunk's rows; empty if it is unknown.
    """

    fields: tuple[SourceField, ...]
    origins: tuple[Origin, ...]
    parts: tuple[Part, ...]
    reader: PartReader
    records: int | None
    on_bad_row: Literal["reject", "abort"] = "reject"
    keeps_order: bool = True
    with_bound: Callable[[Bound], Reading] | None = None
    release: Callable[[], None] = lambda: None
    find_mismatches: Callable[[Sequence[Origin]], tuple[str, ...]] = lambda origins: ()
    is_blank: bool = False
    references: Mapping[str, Reading] = field(default_factory=dict)
    size: int | None = None
    is_empty: Callable[[], bool] = lambda: False
    changes: ChangesRead | None = None
    is_nothing: bool = False
    cursor_sum: str = ""

    def release_all(self) -> None:
        """Release the source and the references."""
        for reading in (self, *self.references.values()):
            reading.release()

    def numbered_from(self, first: int) -> Reading:
        """Return the same reading with its origins at higher positions, so that it can stand behind others."""
        if not first:
            return self

        def find_mismatches(origins: Sequence[Origin]) -> tuple[str, ...]:
            return self.find_mismatches([replace(origin, seq=origin.seq - first) for origin in origins])

        return replace(
            self,
            origins=tuple(replace(origin, seq=origin.seq + first) for origin in self.origins),
            reader=NumberedReader(self.reader, first),
            find_mismatches=find_mismatches,
        )

    @property
    def units(self) -> tuple[str, ...]:
        """The load units that are done once these rows are loaded."""
        return tuple(origin.sha256 for origin in self.origins if origin.is_unit)

    @property
    def identities(self) -> frozenset[str]:
        """The identities of the input: files by their bytes, a database by its snapshot."""
        return frozenset(origin.sha256 for origin in self.origins)


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads splits of files of one format. `store` opens the files."""

    format: Any
    declared: tuple[SourceColumn, ...]
    store: FileStore

    def read(self, part: Split, fields: Sequence[SourceField]) -> Batches:
        return FORMATS[self.format.type].read(part, self.format, fields, self.declared, store=self.store)

    def read_all(self, parts: Iterable[Split], fields: Sequence[SourceField]) -> Batches:
        for are_small, some in groupby(parts, key=lambda split: is_small(split.file)):
            splits = list(some)
            read = self._read_small(splits, fields) if are_small else _read_each(self, splits, fields)
            with closed_after(read) as batches:
                yield from batches

    def _read_small(self, splits: Sequence[Split], fields: Sequence[SourceField]) -> Batches:
        stores = read_scanned(splits, self.store)
        with closed_after(stores):
            if read_together := READ_TOGETHER.get(self.format.type):
                yield from read_together(zip(splits, stores, strict=True), self.format, fields, self.declared)
                return
            handler = FORMATS[self.format.type]
            for split, store in zip(splits, stores, strict=True):
                yield from handler.read(split, self.format, fields, self.declared, store=store)


@dataclass(frozen=True, slots=True)
class NumberedReader:
    """Reads the parts of another reader, and adds `first` to the positions of their origins."""

    reader: PartReader
    first: int

    def read(self, part: Any, fields: Sequence[SourceField]) -> Batches:
        return self.read_all([part], fields)

    def read_all(self, parts: Iterable[Any], fields: Sequence[SourceField]) -> Batches:
        with closed_after(read_parts(self.reader, parts, fields)) as batches:
            for batch in batches:
                place = batch.schema.get_field_index(HIDDEN[0].name)
                positions = pc.add(batch.column(place), pa.scalar(self.first, pa.int32()))
                yield batch.set_column(place, batch.schema.field(place), positions)


@dataclass(frozen=True, slots=True)
class NoReader:
    """The reader of rows that are already staged. It is never called."""

    def read(self, part: Any, fields: Sequence[SourceField]) -> Batches:
        raise NotImplementedError


def nothing_to_read(origins: Sequence[Origin], units: tuple[str, ...], records: int) -> Reading:
    """Return the reading for rows that are already staged, with their origins."""
    known = tuple(replace(origin, is_unit=origin.sha256 in units) for origin in origins)
    return Reading((), known, (), NoReader(), records)


def united_fields(parts: Iterable[Iterable[SourceField]]) -> tuple[SourceField, ...]:
    """Return the fields of several sources or runs. A field with different types becomes text."""
    found: dict[str, SourceField] = {}
    for part in parts:
        for new in part:
            found[new.name] = new if found.get(new.name, new) == new else SourceField(new.name, STRING)
    return tuple(found.values())


def reading_together(readings: Sequence[Reading]) -> Reading:
    """Return what several readings with different origins are together. It cannot be read itself."""
    if len(readings) == 1:
        return readings[0]
    counted = [reading.records for reading in readings]

    def release() -> None:
        for reading in readings:
            reading.release()

    def find_mismatches(origins: Sequence[Origin]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for reading in readings:
            own = {origin.seq for origin in reading.origins}
            found |= dict.fromkeys(reading.find_mismatches([origin for origin in origins if origin.seq in own]))
        return tuple(found)

    return Reading(
        fields=united_fields(reading.fields for reading in readings),
        origins=tuple(origin for reading in readings for origin in reading.origins),
        parts=(),
        reader=NoReader(),
        records=None if None in counted else sum(filter(None, counted)),
        keeps_order=all(reading.keeps_order for reading in readings),
        release=release,
        find_mismatches=find_mismatches,
        is_blank=all(reading.is_blank for reading in readings),
        references={name: one for reading in readings for name, one in reading.references.items()},
    )


def read_files(source: Source, scans: Sequence[FileScan], store: FileStore) -> Reading:
    """Return the reading of scanned files. Raises Terminal if a column's types have no common type."""
    format = config_of(source, FilesConfig).format
    files = {scan.file.seq: scan.file for scan in scans}
    return Reading(
        fields=union_of_fields(scans, source.columns or ()),
        origins=tuple(
            Origin(scan.file.seq, scan.file.name, scan.sha256, records=scan.records, source=source.id) for scan in scans
        ),
        parts=tuple(split for scan in scans for split in scan.splits),
        reader=FileReader(format, tuple(source.columns or ()), store),
        records=sum(scan.records for scan in scans),
        on_bad_row=getattr(format, "on_bad_row", "reject"),
        is_blank=all(scan.is_blank for scan in scans),
        find_mismatches=lambda origins: mismatches_of((files[origin.seq] for origin in origins), format, store),
        size=sum(scan.file.size for scan in scans),
        is_empty=lambda: not any(scan.records for scan in scans),
    )
