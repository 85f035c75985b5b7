"""The tokens of statements in the log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"[ \t\n\r\f\v]+|/\*M?!\d*|/\*.*?\*/|\*/|(?:--[ \t\n\r\f\v]|#)[^\n]*|(?P<name>`(?:[^`]|``)*`)"
    r"|(?P<quoted>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")|(?P<word>[\w$\x80-\U0010ffff]+)|(?P<sign>.)",
    re.DOTALL,
)
"""Text in comments with `!` is part of the statement."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, name or sign. `word` is in upper case, empty for a quoted name."""

    text: str
    word: str


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a statement without its comments."""
    return list(_tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    for found in _TOKEN.finditer(text):
        if found["name"] is not None:
            yield Token(found["name"][1:-1].replace("``", "`"), "")
        elif found["quoted"] is not None:
            yield Token(found["quoted"][1:-1], "'")
        elif found["word"] is not None:
            yield Token(found["word"], found["word"].upper())
        elif found["sign"] is not None:
            yield Token(found["sign"], found["sign"])


def split(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the parts between the commas that are in no parentheses."""
    clause: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.text == "(" and token.word == "(") - (token.text == ")" and token.word == ")")
        if token.word == "," and not depth:
            yield clause
            clause = []
        elif token.word != ";" or depth:
            clause.append(token)
    yield clause
