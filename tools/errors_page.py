"""Generate docs/reference/errors.md from the catalogues of codes. With --check, only report whether it is current."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from flowapp.alerts.kinds import ALERT_KINDS
from flowapp.error_codes import ERROR_CODES, WARNING_CODES
from ir import InvalidPipeline
from ir.codes import CODES, Code
from ir.diagnostics import Diagnostic
from ir.kinds import KindTable
from ir.manifests.codes import MANIFEST_CODES
from ir.transform_code.codes import TRANSFORM_CODES
from tests.ir.cases import Case, list_cases

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "errors.md"
HEAD = """# Error codes

Every error has a code for programs; the message and the hint are for people. The API returns the code in a problem body
(RFC 9457), whose `type` is the URL of the section below. The command line prints it in brackets, and with `--json` as
`error.code`. A failed run has it in `error.code`.

The HTTP status is the status of an API response; failed runs have none. 503 means that a retry may help.
Diagnostics of documents, warnings of runs and kinds of alert are listed at the end.
"""
DIAGNOSTICS = """## Diagnostics of documents

`flow validate`, the editor and the API report these codes for a pipeline document, each with its location. A document
with an error cannot be saved as a version; a warning does not prevent it.
"""
MANIFESTS = """## Diagnostics of manifests

`flow plan`, `flow apply` and the Plan page report these codes for the files of a project, beside those of documents.
"""
TRANSFORMS = """## Diagnostics of transforms written as code

`flow compile` reports these codes for sources, each with its line; `flow plan`, `flow apply` and `flow validate` for
compiled transforms.
"""
WARNINGS = """## Warnings of runs

These codes are in `warnings` of a run that continues. An error after a committed load, such as a failed hook, is a
warning with the code of the error above.
"""
ALERTS = """## Kinds of alert

The Health page, `flow alerts list` and `GET /api/alerts/` show alerts of these kinds.
"""


def page() -> str:
    parts = (
        DIAGNOSTICS,
        *_diagnostics(),
        MANIFESTS,
        *_listed(MANIFEST_CODES),
        TRANSFORMS,
        *_listed(TRANSFORM_CODES),
        WARNINGS,
        *_warnings(),
        ALERTS,
        *_alerts(),
    )
    return "\n".join((HEAD, *_errors(), *parts))


def _errors() -> Iterator[str]:
    codes = sorted(ERROR_CODES.values(), key=lambda code: code.name)
    for family, members in groupby(codes, key=lambda code: code.name.partition(".")[0]):
        yield f"## {family}\n"
        for code in members:
            phrase = HTTPStatus(code.status).phrase
            yield f"### {code.name}\n\n{code.title} {code.hint} HTTP {code.status} ({phrase}).\n"


def _diagnostics() -> Iterator[str]:
    messages = example_messages()
    for code in sorted(CODES.values(), key=lambda code: code.name):
        example = f"\nExample: {messages[code.name]}\n" if code.name in messages else ""
        yield f"### {code.name}\n\n{code.severity.capitalize()}. {code.hint}\n{example}"


def _listed(codes: KindTable[Code]) -> Iterator[str]:
    for code in sorted(codes.values(), key=lambda code: code.name):
        yield f"### {code.name}\n\n{code.severity.capitalize()}. {code.hint}\n"


def _warnings() -> Iterator[str]:
    for warning in sorted(WARNING_CODES.values(), key=lambda code: code.name):
        yield f"### {warning.name}\n\n{warning.title} {warning.hint}\n"


def _alerts() -> Iterator[str]:
    for kind in sorted(ALERT_KINDS.values(), key=lambda kind: kind.kind):
        yield f"### {kind.kind}\n\n{kind.title}. {kind.hint} Resolved by {kind.resolver}.\n"


def example_messages() -> dict[str, str]:
    """A message for each diagnostic code, from the documents that the tests parse."""
    messages: dict[str, str] = {}
    for case in (*list_cases("invalid"), *list_cases("valid")):
        for diagnostic in _diagnostics_of(case):
            messages.setdefault(diagnostic.code, escape_markdown(diagnostic.message))
    return messages


def _diagnostics_of(case: Case) -> Sequence[Diagnostic]:
    try:
        return case.parse().warnings
    except InvalidPipeline as invalid:
        return invalid.diagnostics


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", text)


def main() -> int:
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page())
        return 0
    if PAGE.read_text() == page():
        return 0
    print(
        "docs/reference/errors.md is not what the error codes make: run tools/errors_page.py and commit it.",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
