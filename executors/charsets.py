"""Databases whose encoding lacks characters: find the characters of a text that it lacks, and escape them."""

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
"""By PostgreSQL's names. UTF8 holds every character, SQL_ASCII any byte."""

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
# In the text of a JSON string two stand for one.
_register(_ESCAPES_JSON, "\\\\")


@dataclass(frozen=True)
class Charset:
    """The characters of a database, by PostgreSQL's name of its encoding."""

    encoding: str = "UTF8"

    @cached_property
    def _codec(self) -> str | None:
        return _CODECS.get(self.encoding)

    def lacks(self, text: str) -> str | None:
        """The first character that the database cannot hold."""
        if self._codec is None or text.isascii():
            return None
        try:
            text.encode(self._codec)
        except UnicodeEncodeError as error:
            return error.object[error.start]
        return None

    def lacking(self, values: pa.Array) -> dict[int, str]:
        """The first such character of each text that has one, by the place of the text."""
        if self._codec is None:
            return {}
        foreign = pc.fill_null(pc.invert(pc.string_is_ascii(values)), False)
        indices = pc.indices_nonzero(foreign)
        texts = values.take(indices).to_pylist()
        found = ((index, self.lacks(text)) for index, text in zip(indices.to_pylist(), texts, strict=True))
        return {index: char for index, char in found if char is not None}

    def shown(self, text: str) -> str:
        """A text for people, with `\\u{20AC}` for what the database cannot hold."""
        return self._replace(text, _ESCAPES)

    def dump_json(self, value: Any) -> str:
        """JSON without escapes, which a database can only read for characters that it has."""
        return self._replace(json.dumps(value, ensure_ascii=False), _ESCAPES_JSON)

    def _replace(self, text: str, errors: str) -> str:
        return text if self.lacks(text) is None else text.encode(str(self._codec), errors).decode(str(self._codec))

    def describe(self, char: str) -> str:
        name = unicodedata.name(char, "")
        return f"holds U+{ord(char):04X}{name and f' ({name})'}, not in the database's encoding {self.encoding}"

    def must_escape(self, text: str) -> bool:
        return "\0" in text or self.lacks(text) is not None

    def escape(self, text: str) -> str:
        """A text that can be kept, and be told from every other one once it is known to be escaped."""
        return self.shown(text.replace("\\", "\\\\").replace("\0", "\\0")) if self.must_escape(text) else text


@dataclass(frozen=True)
class JsonDumper:
    """`Charset.dump_json` for the driver, which caches dumpers by the code of a function: the methods of two charsets
    would be one for it."""

    charset: Charset

    def __call__(self, value: Any) -> str:
        return self.charset.dump_json(value)


def unescape(text: str) -> str:
    # In one go from the left: a pair of signs means one, whatever stands before it.
    return _ESCAPE.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    if found[2] is not None:
        return chr(int(found[2], 16))
    return "\0" if found[1] == "0" else "\\"


UTF8 = Charset()
