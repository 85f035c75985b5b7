"""Finds the positions of the parts of a TOML text. The text must be valid; `ir.toml_text` reads its values."""

from __future__ import annotations

import re
import tomllib

from ir.budget import spend
from ir.pointers import ROOT, Pointer

# Repeated groups are in (?>…): before Python 3.11.5, a possessive repeat of a group reports a wrong position.
_SPACE = re.compile(r"(?>(?:[ \t\r\n]++|#[^\n]*+)*)")
_BLANK = re.compile(r"[ \t]*+")
_KEY_PART = re.compile(r"""[A-Za-z0-9_-]++|"(?>(?:[^"\\\n]++|\\.)*)"|'[^'\n]*+'""")
_LONG_TEXT = re.compile(
    r'"""(?>(?:[^"\\]++|\\.|"{1,2}(?!"))*)"{3,5}|\'\'\'(?>(?:[^\']++|\'{1,2}(?!\'))*)\'{3,5}', re.DOTALL
)
_SHORT_TEXT = re.compile(r"""\"(?>(?:[^"\\\n]++|\\.)*)\"|'[^'\n]*+'""")
_PLAIN = re.compile(r"[^,\]}#\n]*+")


def find_offsets(text: str) -> dict[Pointer, int]:
    """Return the offset of each table header, key and array item, by pointer."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._offsets: dict[Pointer, int] = {ROOT: 0}
        self._counts: dict[Pointer, int] = {}

    def scan(self) -> dict[Pointer, int]:
        table = ROOT
        while self._skip_space() < len(self._text):
            if self._sees("["):
                table = self._header()
            else:
                self._member(table)
        return self._offsets

    def _header(self) -> Pointer:
        start, opens_item = self._at, self._sees("[[")
        self._at += 2 if opens_item else 1
        table = self._resolve(self._key(), start, opens_item=opens_item)
        self._at += 2 if opens_item else 1
        return table

    def _resolve(self, key: tuple[str, ...], start: int, *, opens_item: bool) -> Pointer:
        """Return the pointer of a table header: below the last item of each array of tables in its key."""
        pointer = ROOT
        for i, part in enumerate(key):
            pointer = pointer / part
            self._offsets.setdefault(pointer, start)
            if opens_item and i == len(key) - 1:
                self._counts[pointer] = self._counts.get(pointer, -1) + 1
            if pointer in self._counts:
                pointer = pointer / self._counts[pointer]
                self._offsets.setdefault(pointer, start)
        return pointer

    def _member(self, table: Pointer) -> None:
        start = self._at
        pointer = table
        for part in self._key():
            pointer = pointer / part
            self._offsets.setdefault(pointer, start)
        self._at += 1  # the sign =
        self._skip_blank()
        self._value(pointer)

    def _key(self) -> tuple[str, ...]:
        parts = []
        while True:
            self._skip_blank()
            match = _KEY_PART.match(self._text, self._at)
            if match is None:
                raise ValueError(f"no key at offset {self._at}")
            parts.append(_unquoted(match[0]))
            self._at = match.end()
            self._skip_blank()
            if not self._sees("."):
                return tuple(parts)
            self._at += 1

    def _value(self, pointer: Pointer) -> None:
        spend(10)
        if self._sees("["):
            self._items(pointer)
        elif self._sees("{"):
            self._members(pointer)
        else:
            match = (
                _LONG_TEXT.match(self._text, self._at)
                or _SHORT_TEXT.match(self._text, self._at)
                or _PLAIN.match(self._text, self._at)
            )
            self._at = match.end() if match else len(self._text)

    def _items(self, pointer: Pointer) -> None:
        self._at += 1
        count = 0
        while not self._ends("]"):
            item = pointer / count
            self._offsets[item] = self._at
            self._value(item)
            count += 1

    def _members(self, pointer: Pointer) -> None:
        self._at += 1
        while not self._ends("}"):
            self._member(pointer)

    def _ends(self, closing: str) -> bool:
        """Skip space and a comma. Return whether the array or inline table ends here, and skip its closing
        character."""
        self._skip_space()
        if self._sees(","):
            self._at += 1
            self._skip_space()
        if self._at < len(self._text) and not self._sees(closing):
            return False
        self._at += 1
        return True

    def _sees(self, sign: str) -> bool:
        return self._text.startswith(sign, self._at)

    def _skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _skip_space(self) -> int:
        spend(3)
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at


def _unquoted(part: str) -> str:
    if part.startswith('"') and "\\" in part:
        return str(tomllib.loads(f"key = {part}")["key"])
    return part[1:-1] if part[0] in "\"'" else part
