"""Describes each column of a sample: texts for NULL, type, counts, bounds, and columns that may be keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.detection.dates import order_of, sign_of
from executors.detection.inference import FileWide, Inferred, Texts, infer
from executors.detection.model import SAMPLES, DetectedColumn, Key
from executors.grammar import canonical_text
from executors.model import SourceField
from executors.validation.target import without_empty
from ir.types import STRING

NULL_WORDS = (
    "NA",
    "N/A",
    "n/a",
    "na",
    "#N/A",
    "NULL",
    "Null",
    "null",
    "None",
    "none",
    "NaN",
    "nan",
    "\\N",
    "-",
    "--",
    "?",
    ".",
)
"""Texts that often mean NULL in files, in columns whose other values are not text."""
CERTAIN_NULL_WORDS = ("\\N", "NULL", "#N/A")
"""Texts that mean NULL also in columns of text."""
LONGEST_SHOWN = 200

_KEY_COLUMNS, _KEYS = 8, 5
_LEAST_ROWS = 20
_NEARLY = 0.99
_KEY_NAMES = ("id", "key", "uuid", "guid", "code", "no", "nr", "number", "nummer", "sku", "isbn")
_NO_KEYS = ("float", "decimal", "json", "boolean", "binary")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column with its values. `texts` are the distinct values, `codes` the index of each row's value, -1 for NULL."""

    field: SourceField
    texts: Texts
    codes: np.ndarray[tuple[int], np.dtype[np.int64]]
    inferred: Inferred

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def rows(self) -> int:
        return len(self.codes)

    @property
    def null_count(self) -> int:
        return self.rows - self.texts.total


def profile(table: pa.Table, fields: Sequence[SourceField]) -> list[Column]:
    """Describe the columns of a file whose values are text."""
    coded = [_coded_as_read(table.column(at)) for at in range(len(fields))]
    first = [_inferred(field, texts, FileWide()) for field, (texts, _) in zip(fields, coded, strict=True)]
    known = _file_wide(first)
    return [
        Column(field, texts, codes, _inferred(field, texts, known) if found.open else found)
        for field, (texts, codes), found in zip(fields, coded, first, strict=True)
    ]


def profile_typed(table: pa.Table, fields: Sequence[SourceField]) -> list[Column]:
    """Describe the columns of a file whose format has types."""
    columns = []
    for at, field in enumerate(fields):
        typed = one_array(table.column(at))
        values = canonical_text(typed)
        texts, codes = _coded(pa.chunked_array([values]))
        firsts = pa.array(np.unique(codes[codes >= 0], return_index=True)[1])
        distinct = typed.drop_null().take(firsts)
        none_bad = pa.array(np.zeros(len(texts.values), dtype=bool))
        columns.append(Column(field, texts, codes, Inferred(field.type, distinct, none_bad)))
    return columns


def as_text(column: Column) -> Column:
    """Return the column as one of text, whatever its values look like."""
    none_bad = pa.array(np.zeros(len(column.texts.values), dtype=bool))
    return replace(column, inferred=Inferred(STRING, column.texts.values, none_bad))


def one_array(values: pa.ChunkedArray) -> pa.Array:
    return (
        values.chunk(0)
        if values.num_chunks == 1
        else pa.concat_arrays(values.chunks)
        if values.num_chunks
        else pa.array([], values.type)
    )


def _coded(values: pa.ChunkedArray) -> tuple[Texts, np.ndarray[Any, Any]]:
    """Return the distinct values in order of appearance, and the index of each row's value."""
    coded = one_array(values).dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.bincount(codes[codes >= 0], minlength=len(coded.dictionary))
    return Texts(coded.dictionary, counts), codes


def _coded_as_read(values: pa.ChunkedArray) -> tuple[Texts, np.ndarray[Any, Any]]:
    """As `_coded`. Empty texts are NULL to a run, unless the column is text."""
    emptied = without_empty(one_array(values))
    if emptied.null_count > values.null_count:
        texts, codes = _coded(pa.chunked_array([emptied]))
        if _is_typed(texts):
            return texts, codes
    return _coded(values)


def _inferred(field: SourceField, texts: Texts, known: FileWide) -> Inferred:
    if field.type == STRING:
        return infer(texts, known)
    return Inferred(field.type, texts.values, pa.array(np.zeros(len(texts.values), dtype=bool)))


def _file_wide(columns: Sequence[Inferred]) -> FileWide:
    decided = [one for one in columns if not one.open]
    decimals = {one.separators.decimal for one in decided if one.type.kind == "decimal"}
    orders: dict[str, str] = {}
    for format in (format for one in decided for format in one.formats):
        sign, order = sign_of(format), order_of(format)
        if order in "dm":
            # Columns that contradict each other do not decide for others.
            orders[sign] = order if orders.get(sign, order) == order else ""
    return FileWide(frozenset(decimals), orders)


# --- texts for NULL ----------------------------------------------------------------------------------------------


def find_null_words(columns: Sequence[Column]) -> list[str]:
    """Return the texts for NULL in columns whose other values are numbers, dates and the like, and texts that almost
    always mean NULL."""
    words, found = pa.array(NULL_WORDS), set()
    for column in columns:
        if column.inferred.type == STRING or column.inferred.misfits(column.texts):
            here = set(column.texts.values.filter(pc.is_in(column.texts.values, value_set=words)).to_pylist())
            found |= here.intersection(CERTAIN_NULL_WORDS)
            if here and _is_typed(column.texts.without(words)):
                found |= here
    return [word for word in NULL_WORDS if word in found]


def _is_typed(texts: Texts) -> bool:
    inferred = infer(texts, FileWide())
    return inferred.type != STRING or bool(inferred.open)


def count_words(column: Column, words: Sequence[str]) -> dict[str, int]:
    """Count the values of a column that equal each of these texts."""
    is_word = pc.is_in(column.texts.values, value_set=pa.array(words, pa.string()))
    return dict(
        zip(
            column.texts.values.filter(is_word).to_pylist(),
            column.texts.counts[is_word.to_numpy(zero_copy_only=False)].tolist(),
            strict=True,
        )
    )


# --- description -------------------------------------------------------------------------------------------------


def describe(column: Column, target_name: str) -> DetectedColumn:
    inferred, texts = column.inferred, column.texts
    separators = inferred.separators
    is_plain = separators.decimal == "." and not separators.group
    least, most = _bounds(inferred)
    return DetectedColumn(
        name=column.name,
        target_name=target_name,
        type=str(inferred.type),
        formats=inferred.formats,
        decimal_separator=None if is_plain else separators.decimal,
        group_separator=separators.group or None,
        null_rate=column.null_count / column.rows if column.rows else 0.0,
        distinct=len(texts.values),
        min=least,
        max=most,
        samples=tuple(map(short, texts.values[:SAMPLES].to_pylist())),
        note=inferred.note,
    )


def short(text: str) -> str:
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def _bounds(inferred: Inferred) -> tuple[str | None, str | None]:
    """Return the least and greatest value in the canonical form of the type."""
    typed = inferred.typed
    if inferred.type.kind in ("json", "boolean", "binary", "pg") or typed.null_count == len(typed):
        return None, None
    bounds = pc.min_max(typed)
    texts = canonical_text(pa.array([bounds["min"].as_py(), bounds["max"].as_py()], typed.type)).to_pylist()
    least, most = (None if text is None else short(text) for text in texts)
    return least, most


# --- keys --------------------------------------------------------------------------------------------------------


def find_keys(columns: Sequence[Column]) -> list[Key]:
    """Return columns and pairs of columns that are unique, the likelier keys first; then those with few duplicates."""
    full = [c for c in columns if c.rows > 1 and not c.null_count and c.inferred.type.kind not in _NO_KEYS]
    single = [column for column in full if len(column.texts.values) == column.rows]
    likely = [column for column in single if column is columns[0] or _is_named(column)]
    likely.sort(key=lambda column: not _is_named(column))
    pairs = [] if likely else list(_pairs([column for column in full if column not in single]))
    # Others, such as amounts, may be unique by chance.
    others = [column for column in single if column not in likely]
    keys = [Key((c.name,), True, is_likely=True) for c in likely] + pairs + [Key((c.name,), True) for c in others]
    return [*keys[:_KEYS], *_near_keys(full)]


def _is_named(column: Column) -> bool:
    """Whether the name is typical of keys."""
    words = column.name.lower().replace("-", "_").replace(" ", "_").split("_")
    return any(word in _KEY_NAMES for word in words) or column.name.endswith(("Id", "ID"))


def _pairs(full: Sequence[Column]) -> Iterator[Key]:
    best = sorted(full, key=lambda column: -len(column.texts.values))[:_KEY_COLUMNS]
    chosen = [column for column in full if column in best]
    for a, b in combinations(chosen, 2):
        if len(a.texts.values) * len(b.texts.values) >= a.rows:
            both = a.codes * len(b.texts.values) + b.codes
            if len(np.unique(both)) == a.rows:
                yield Key((a.name, b.name), True)
                return


def _near_keys(full: Sequence[Column]) -> Iterator[Key]:
    for column in full:
        distinct = len(column.texts.values)
        if column.rows >= _LEAST_ROWS and column.rows * _NEARLY <= distinct < column.rows:
            repeated = column.texts.values.filter(pa.array(column.texts.counts > 1))[:SAMPLES].to_pylist()
            yield Key((column.name,), False, tuple(map(short, repeated)))
