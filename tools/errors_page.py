"""Makes docs/errors.md from the catalogues of codes; with --check only says whether it is current."""

from __future__ import annotations

import sys
from http import HTTPStatus
from itertools import groupby
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
HEAD = """# Error codes

Every error has a code. Programs branch on it; the message, the hint and the log are for people. The API sends the code
in a problem body (RFC 9457), whose `type` leads to the section below; the command line prints it in brackets, and with
`--json` as `error.code`; a failed run keeps it in `error.code`.

The HTTP status is that of an API response. 503 means that trying again may help. A run that fails has no HTTP status.
Faults of a pipeline document have codes of their own: `flow validate` lists them with their hints.
Warnings of runs and kinds of alert come at the end.
"""
WARNINGS = """## Warnings of runs

A run that goes on says by these codes what to look at, in `warnings` of its report. A failure after a load was
committed, such as that of a hook, is a warning with the code of its error above.
"""
ALERTS = """## Kinds of alert

The Health page, `flow alerts list` and `GET /api/alerts/` show alerts of these kinds.
"""


def page() -> str:
    sys.path.insert(0, str(PAGE.parents[1]))
    from flowapp.alerts.kinds import ALERT_KINDS
    from flowapp.error_codes import ERROR_CODES, WARNING_CODES

    codes = sorted(ERROR_CODES.values(), key=lambda code: code.name)
    lines = [HEAD]
    for family, members in groupby(codes, key=lambda code: code.name.partition(".")[0]):
        lines.append(f"## {family}\n")
        for code in members:
            phrase = HTTPStatus(code.status).phrase
            lines.append(f"### {code.name}\n\n{code.title} {code.hint} HTTP {code.status} ({phrase}).\n")
    lines.append(WARNINGS)
    for warning in sorted(WARNING_CODES.values(), key=lambda code: code.name):
        lines.append(f"### {warning.name}\n\n{warning.title} {warning.hint}\n")
    lines.append(ALERTS)
    for kind in sorted(ALERT_KINDS.values(), key=lambda kind: kind.kind):
        lines.append(f"### {kind.kind}\n\n{kind.title}. {kind.hint} Resolved by {kind.resolver}.\n")
    return "\n".join(lines)


def main() -> int:
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page())
        return 0
    if PAGE.read_text() == page():
        return 0
    print("docs/errors.md is not what the error codes make: run tools/errors_page.py and commit it.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
