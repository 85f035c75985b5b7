"""Patterns of file names: globs, RE2 regexes and globs with date tokens. A pattern matches a whole name, never a path.

Flow's globs are strict. `*` is any run of characters, `?` one, `[a-c]` and `[!a-c]` one of a set; `[[]`, `[*]` and
`[?]` match the character itself. A pattern also matches a name that equals its own text, so that a file called
`a[1].csv` is found by its name. Names that begin with a dot match only a pattern that begins with one; `_` is an
ordinary character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from ir.diagnostics import Diagnostic, diagnose, listed, shown
from ir.pointers import Pointer
from ir.regexes import compile_regex
from ir.timezones import timezone

if TYPE_CHECKING:
    from ir.connectors.files import Pattern

Matcher = Callable[[str], bool]

TOKENS = {
    "{YYYY}": "%Y",
    "{MM}": "%m",
    "{DD}": "%d",
    "{HH}": "%H",
    "{mm}": "%M",
    "{ss}": "%S",
    "{YYYY-MM-DD}": "%Y-%m-%d",
    "{YYYYMMDD}": "%Y%m%d",
}
_TOKEN = re.compile(r"\{[^{}]*\}")
_UNITS = re.compile(r"\[(!?)(\]?[^\]]*)\]|(\[)|(\*+)|(\?)|([^\[*?]+)")


def expand(pattern: Pattern, now: datetime) -> str:
    """Return the glob or regex of a pattern at the time `now` (aware)."""
    if pattern.type != "date_template":
        return pattern.value
    return expand_tokens(pattern.value, now.astimezone(timezone(pattern.timezone)))


def expand_tokens(text: str, moment: datetime) -> str:
    """Replace the date tokens of a text by the date and time `now`."""
    return _TOKEN.sub(lambda token: moment.strftime(TOKENS[token[0]]) if token[0] in TOKENS else token[0], text)


def without_tokens(path: str) -> str:
    """Return the folders of a path before the first one with a date token."""
    folders = path.split("/")
    return "/".join(folders[: next((i for i, name in enumerate(folders) if _TOKEN.search(name)), len(folders))])


def unknown_tokens(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text) if token not in TOKENS]


def compile_pattern(pattern: Pattern, now: datetime) -> Matcher:
    """Return a function that matches file names at the time `now` (aware); raises ValueError."""
    text = expand(pattern, now)
    return _regex_matcher(text) if pattern.type == "regex" else glob_matcher(text)


def glob_matcher(glob: str) -> Matcher:
    """Return a function that matches names against a glob. Raises ValueError with the error in the glob."""
    matches = _regex_matcher(_glob_to_regex(glob))
    shows_hidden = glob.startswith(".")
    return lambda name: name == glob or (matches(name) and (shows_hidden or not name.startswith(".")))


def literal_glob(name: str) -> str:
    """Return the glob that matches only this name."""
    return re.sub(r"([\[*?])", r"[\1]", name)


def _regex_matcher(regex: str) -> Matcher:
    compiled = compile_regex(regex)
    # In a name that is not UTF-8, each invalid byte is matched as a question mark. The library needs twice as long for
    # a text as for its bytes.
    return lambda name: compiled.fullmatch(name.encode(errors="replace")) is not None


def _glob_to_regex(glob: str) -> str:
    if "/" in glob:
        raise ValueError("a pattern applies to file names; put the folder into `path`")
    return "(?s)" + "".join(_unit(*match.groups()) for match in _UNITS.finditer(glob))


def _unit(
    negated: str | None, members: str | None, lone: str | None, stars: str | None, single: str | None, text: str | None
) -> str:
    if lone:
        raise ValueError("a bracket is not closed; write [[] for a literal bracket")
    if stars:
        if len(stars) > 1:
            raise ValueError("** is not a pattern for names")
        return ".*"
    if single:
        return "."
    return _set(bool(negated), members) if members is not None else re.escape(text or "")


def _set(negated: bool, members: str) -> str:
    if not members:
        raise ValueError("the brackets are empty")
    for low, high in re.findall(r"(.)-(.)", members, re.DOTALL):
        if low > high:
            raise ValueError(f"the range {low}-{high} is reversed")
    escaped = re.sub(r"([\\\]\[^&~|])", r"\\\1", members)
    return f"[{'^' if negated else ''}{escaped}]"


_WAYS: dict[str, Callable[[str], object]] = {
    "glob": glob_matcher,
    "date_template": lambda text: glob_matcher(expand_tokens(text, datetime(2001, 2, 3))),
    "regex": compile_regex,
}


def check_pattern(kind: str, text: str, at: Pointer) -> Iterator[Diagnostic]:
    """Check that the text of a pattern is valid for its kind."""
    if kind == "date_template" and (unknown := unknown_tokens(text)):
        message = f"Unknown date token {shown(unknown[0])}. Tokens: {listed(TOKENS)}."
        yield diagnose("pattern.malformed", at, message)
    try:
        _WAYS[kind](text)
    except ValueError as error:
        code = "regex.not_re2" if kind == "regex" else "pattern.malformed"
        yield diagnose(code, at, f"The pattern {shown(text)} cannot be read: {error}.")
