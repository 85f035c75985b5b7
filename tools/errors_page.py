"""Makes docs/errors.md from the catalogues of error codes; with --check only says whether it is current."""

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
"""


def page() -> str:
    sys.path.insert(0, str(PAGE.parents[1]))
    from flowapp.error_codes import ERROR_CODES

    codes = sorted(ERROR_CODES.values(), key=lambda code: code.name)
    lines = [HEAD]
    for family, members in groupby(codes, key=lambda code: code.name.partition(".")[0]):
        lines.append(f"## {family}\n")
        for code in members:
            phrase = HTTPStatus(code.status).phrase
            lines.append(f"### {code.name}\n\n{code.title} {code.hint} HTTP {code.status} ({phrase}).\n")
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
