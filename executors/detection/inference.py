"""The type of a column from its texts. A type is proposed only if the grammar of a run reads the values as it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.detection.dates import Dates, dates_of, read_dates
from executors.detection.numbers import PLAIN, RARE, Separators, choose, decimal_type, fits_double
from executors.grammar import parse_column
from executors.grammar.separators import with_points
from executors.grammar.words import FALSE_WORDS, TRUE_WORDS
from ir.types import STRING, ColumnType

_LOOKED_AT = 200
_LEAST_SHARE = 0.9
_FEWEST_PACKED_DATES = 3

_NUMBER = re.compile(r"[+-]?\d+(?:[.,'’ \u00a0\u202f]\d+)*")
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_PACKED_DATE = re.compile(r"(?:19|20)\d{6}")
_UUID = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-\S{22}")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}\S*)?")
_TIME = re.compile(r"\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?")
_JSON = re.compile(r"[\[{].*[\]}]", re.DOTALL)
_DATE = re.compile(r"(?:\d{1,8}[-./ ]|[A-Za-z]{3,9} \d{1,2},? ).*\d.*|\d{8}", re.DOTALL)
_CODED = r"^\s*[+-]?0[0-9]|^\s*\+[0-9]{7}"
"""Leading zeros, and a plus before many digits: codes and telephone numbers, which are not quantities."""
_E_CODE = r"^\s*[0-9]+[eE][0-9]+\s*$"
"""Digits with an E among them: codes, which a spreadsheet may have taken for numbers, unless another value of the
column shows that they are written as floats are."""
_WRITTEN_AS_FLOAT = r"\.|[eE][+-]"
_ZONE = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)\s*$"
_CENTURIES = "Two-digit years from 69 are read as 1969 to 1999, others as 2000 to 2068."
_MOST_BOOLEANS = 12
_SURE_BIGINT = 18


@dataclass(frozen=True, slots=True)
class Texts:
    """The distinct values of a column without NULL, and the number of occurrences of each."""

    values: pa.Array
    counts: np.ndarray[tuple[int], np.dtype[np.int64]]

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def without(self, words: pa.Array) -> Texts:
        keep = pc.invert(pc.is_in(self.values, value_set=words))
        return Texts(self.values.filter(keep), self.counts[keep.to_numpy(zero_copy_only=False)])


@dataclass(frozen=True, slots=True)
class FileWide:
    """What unambiguous columns say about the others: decimal separators, and the order of dates by their separator."""

    decimals: frozenset[str] = frozenset()
    orders: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inferred:
    """A type, the values parsed as this type, and which of them do not fit.

    `open` says what the values do not decide: `date.ambiguous`, `date.mixed_order`, `number.ambiguous`,
    `timestamp.mixed_zones`; `between` are the possible readings.
    """

    type: ColumnType
    typed: pa.Array
    bad: pa.BooleanArray
    formats: tuple[str, ...] = ()
    separators: Separators = PLAIN
    note: str = ""
    open: str = ""
    between: tuple[str, ...] = ()

    def misfits(self, texts: Texts) -> int:
        return int(texts.counts[self.bad.to_numpy(zero_copy_only=False)].sum())


def infer(texts: Texts, known: FileWide) -> Inferred:
    """Return the first type that fits all values; else the one with the fewest misfits, if they are rare; else text."""
    if not len(texts.values):
        return _as_text(texts.values)
    sample = _sample(texts.values)
    best, fewest, note = None, texts.total, ""
    for found in _candidates(texts.values, sample, known):
        if found.type == STRING:
            if found.open:
                return found
            note = found.note or note
            continue
        misfits = found.misfits(texts)
        if not misfits:
            return found
        if misfits < fewest:
            best, fewest = found, misfits
    if best is not None and fewest * RARE <= texts.total:
        return best
    return _as_text(texts.values, note)


def _sample(values: pa.Array) -> list[str]:
    step = len(values) // _LOOKED_AT
    return _stripped(values.take(pa.array(range(0, len(values), step))) if step > 1 else values)


def _stripped(values: pa.Array) -> list[str]:
    return [text.strip(" \t\r\n\v\f") for text in values.to_pylist()]


def _matching(pattern: re.Pattern[str], sample: Sequence[str]) -> list[str]:
    """Return the texts that match; none if they are few."""
    first = sample[:: max(1, len(sample) // 4)]
    if not any(map(pattern.fullmatch, first)):
        return []
    found = [text for text in sample if pattern.fullmatch(text)]
    return found if len(found) >= len(sample) * _LEAST_SHARE else []


# --- candidates --------------------------------------------------------------------------------------------------


def _candidates(values: pa.Array, sample: Sequence[str], known: FileWide) -> Iterator[Inferred]:
    """Return types that the sample suggests, the narrower first."""
    if len(values) <= _MOST_BOOLEANS and _are_booleans(sample):
        yield _read(values, "boolean")
    if packed := _packed_dates(values, sample):
        yield packed
    if numbers := _matching(_NUMBER, sample):
        yield from _numbers(values, numbers, known)
    elif _matching(_FLOAT, sample):
        if (code := _first_match(values, _E_CODE)) and not _first_match(values, _WRITTEN_AS_FLOAT):
            yield _as_text(
                values, f"Values such as {code!r} stay text: they may be codes with an E among their digits."
            )
        else:
            yield from _floats(values)
    if _matching(_ISO, sample):
        yield from _iso(values)
    for pattern, kind in ((_TIME, "time"), (_UUID, "uuid"), (_JSON, "json")):
        if _matching(pattern, sample):
            yield _read(values, kind)
    if written := _matching(_DATE, sample):
        yield from _dates(values, written, known)


def _read(values: pa.Array, kind: str) -> Inferred:
    to = ColumnType.parse(kind)
    return Inferred(to, *parse_column(values, to))


def _are_booleans(sample: Sequence[str]) -> bool:
    """Whether the values are words for both true and false, or `true` or `false`: `no` alone may be Norway, and 0 and 1
    are numbers."""
    words = {text.lower() for text in sample} - {"0", "1"}
    return bool(words & {"true", "false"} or (words & set(TRUE_WORDS) and words & set(FALSE_WORDS)))


def _packed_dates(values: pa.Array, sample: Sequence[str]) -> Inferred | None:
    """Return eight-digit values as dates if all of them are days of this or the last century."""
    if len(values) < _FEWEST_PACKED_DATES or len(_matching(_PACKED_DATE, sample)) < len(sample):
        return None
    typed, bad = read_dates(values, Dates("date", ("%Y%m%d",)))
    return None if bad.true_count else Inferred(ColumnType("date"), typed, bad, ("%Y%m%d",))


def _numbers(values: pa.Array, sample: Sequence[str], known: FileWide) -> Iterator[Inferred]:
    if coded := _first_match(values, _CODED):
        yield _as_text(values, f"Values such as {coded!r} stay text: read as numbers, they would lose characters.")
        return
    choice = choose(values, sample, known.decimals)
    if choice.separators is None:
        return
    if choice.is_open and choice.separators != PLAIN:
        yield _as_text(values, open="number.ambiguous", between=tuple(sample[:1]))
        return
    open = "number.ambiguous" if choice.is_open else ""
    separators = choice.separators
    plain = values if separators == PLAIN else with_points(values, separators.decimal, separators.group or None)[0]
    for found in _plain_numbers(plain):
        bad = pc.or_(found.bad, pc.and_(pc.is_null(plain), pc.is_valid(values)))
        yield Inferred(
            found.type, found.typed, bad, (), separators, found.note, open, tuple(sample[:1]) if open else ()
        )


def _plain_numbers(values: pa.Array) -> Iterator[Inferred]:
    integer = _read(values, "integer")
    yield integer
    if integer.bad.true_count:
        bigint = _read(values, "bigint")
        yield bigint
        if bigint.bad.true_count:
            yield from _fractions(values)


def _fractions(values: pa.Array) -> Iterator[Inferred]:
    texts = [text for text in _stripped(values.drop_null()) if re.fullmatch(PLAIN.pattern, text)]
    if to := decimal_type(texts):
        found = Inferred(to, *parse_column(values, to))
        yield found
        if found.bad.true_count:
            yield from _floats(values)
    elif not any("." in text for text in texts):
        longest = max(texts, key=len, default="")
        if len(longest) > _SURE_BIGINT:
            yield _as_text(values, f"Values such as {longest!r} have more digits than bigint holds.")
    else:
        yield from _floats(values)


def _floats(values: pa.Array) -> Iterator[Inferred]:
    found = _read(values, "float")
    long = next((text for text in _stripped(values.drop_null()) if not fits_double(text)), None)
    if long is None:
        yield found
    else:
        yield _as_text(values, f"Values such as {long!r} have more digits than float holds.")


def _iso(values: pa.Array) -> Iterator[Inferred]:
    yield _read(values, "date")
    moments = _read(values, "timestamp")
    yield moments
    if not moments.bad.true_count:
        return
    zoned = pc.match_substring_regex(values, _ZONE)
    if zoned.true_count == len(values):
        yield _read(values, "timestamptz")
    elif zoned.true_count and not _read(values, "timestamptz").bad.true_count:
        with_zone, without = values.filter(zoned)[0].as_py(), values.filter(pc.invert(zoned))[0].as_py()
        yield _as_text(values, open="timestamp.mixed_zones", between=(with_zone, without))


def _dates(values: pa.Array, sample: Sequence[str], known: FileWide) -> Iterator[Inferred]:
    dates = dates_of(sample, known.orders)
    found = _dated(values, dates)
    if len(sample) < len(values) and dates and (dates.problem or (found and found.bad.true_count)):
        # Values beyond the sample may decide between day and month, contradict it, or have another form.
        dates = dates_of([text for text in _stripped(values) if _DATE.fullmatch(text)], known.orders) or dates
        found = _dated(values, dates)
    if found:
        yield found


def _dated(values: pa.Array, dates: Dates | None) -> Inferred | None:
    if dates is None:
        return None
    if dates.problem:
        code = "date.ambiguous" if dates.problem == "open" else "date.mixed_order"
        return _as_text(values, open=code, between=dates.formats)
    note = _CENTURIES if any("%y" in format for format in dates.formats) else ""
    return Inferred(ColumnType(dates.kind), *read_dates(values, dates), dates.formats, note=note)


def _as_text(values: pa.Array, note: str = "", *, open: str = "", between: tuple[str, ...] = ()) -> Inferred:
    none_bad = pa.array(np.zeros(len(values), dtype=bool))
    return Inferred(STRING, values, none_bad, note=note, open=open, between=between)


def _first_match(values: pa.Array, pattern: str) -> str | None:
    found = pc.match_substring_regex(values, pattern)
    return values.filter(found)[0].as_py() if found.true_count else None
