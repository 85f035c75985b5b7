"""Finds and escapes characters that the encoding of a database cannot store."""

from __future__ import annotations

import codecs
import json
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_CODECS = {
    **{f"LATIN{n}": f"iso8859-{part}" for n, part in enumerate((1, 2, 3, 4, 9, 10, 13, 14, 15, 16), start=1)},
    **{f"ISO_8859_{part}": f"iso8859-{part}" for part in (5, 6, 7, 8)},
    **{f"WIN{page}": f"cp{page}" for page in (866, 874, *range(1250, 1259))},
    "KOI8R": "koi8-r",
    "KOI8U": "koi8-u",
    "EUC_JP": "euc_jp",
    "EUC_CN": "gb2312",
    "EUC_KR": "euc_kr",
    "EUC_JIS_2004": "euc_jis_2004",
}
"""Python codecs by PostgreSQL's names of encodings. UTF8 can store every character, SQL_ASCII any byte."""

_ESCAPE = re.compile(r"\\(?:([\\0])|u\{([0-9A-F]+)\})")


_ESCAPES, _ESCAPES_JSON = "flow_escape", "flow_escape_json"


def _register(name: str, sign: str) -> None:
    def handle(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        lost = error.object[error.start : error.end]
        return "".join(f"{sign}u{{{ord(char):04X}}}" for char in lost), error.end

    codecs.register_error(name, handle)


_register(_ESCAPES, "\\")
# JSON needs two backslashes for one.
_register(_ESCAPES_JSON, "\\\\")


@dataclass(frozen=True)
class Charset:
    """The characters that a database can store, given by PostgreSQL's name of its encoding."""

    encoding: str = "UTF8"

    @cached_property
    def _codec(self) -> str | None:
        return _CODECS.get(self.encoding)

    def lacks(self, text: str) -> str | None:
        """Return the first character of the text that the database cannot store, or None."""
        if self._codec is None or text.isascii():
            return None
        try:
            text.encode(self._codec)
        except UnicodeEncodeError as error:
            return error.object[error.start]
        return None

    def lacking(self, values: pa.Array) -> dict[int, str]:
        """Return, by position in `values`, the first character that the database cannot store. Other texts are
        absent."""
        if self._codec is None:
            return {}
        foreign = pc.fill_null(pc.invert(pc.string_is_ascii(values)), False)
        indices = pc.indices_nonzero(foreign)
        texts = values.take(indices).to_pylist()
        found = ((index, self.lacks(text)) for index, text in zip(indices.to_pylist(), texts, strict=True))
        return {index: char for index, char in found if char is not None}

    def shown(self, text: str) -> str:
        """Return the text for display, with `\\u{20AC}` in place of characters that the database cannot store."""
        return self._replace(text, _ESCAPES)

    def dump_json(self, value: Any) -> str:
        """Return JSON without Unicode escapes, because PostgreSQL refuses escapes of characters that the database
        cannot store. Such characters are replaced as in `shown`."""
        return self._replace(json.dumps(value, ensure_ascii=False), _ESCAPES_JSON)

    def _replace(self, text: str, errors: str) -> str:
        return text if self.lacks(text) is None else text.encode(str(self._codec), errors).decode(str(self._codec))

    def describe(self, char: str) -> str:
        name = unicodedata.name(char, "")
        return f"holds U+{ord(char):04X}{name and f' ({name})'}, not in the database's encoding {self.encoding}"

    def must_escape(self, text: str) -> bool:
        return "\0" in text or self.lacks(text) is not None

    def escape(self, text: str) -> str:
        """Return the text, escaped if the database cannot store it as it is. `unescape` restores an escaped text
        exactly. The caller must store whether the text is escaped: the text alone does not show it."""
        return self.shown(text.replace("\\", "\\\\").replace("\0", "\\0")) if self.must_escape(text) else text


@dataclass(frozen=True)
class JsonDumper:
    """Serializes JSON with `Charset.dump_json` for psycopg. It is a class because psycopg caches dumpers by the code of
    a function, and the methods of two charsets share their code."""

    charset: Charset

    def __call__(self, value: Any) -> str:
        return self.charset.dump_json(value)


def unescape(text: str) -> str:
    # A single pass from the left, so that a doubled backslash is never read as the start of an escape.
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    if found[2] is not None:
        return chr(int(found[2], 16))
    return "\0" if found[1] == "0" else "\\"


UTF8 = Charset()
