"""`email`: a pattern that takes linear time, not all of RFC 5322.

Taken are letters and digits of all scripts and the signs that mailboxes really have, dots not at the ends and not in a
row, and a domain of at least two labels that neither begin nor end with a hyphen. Not taken are quoted names, comments
and addresses of machines.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import canonical_text
from executors.rules.base import Given, RowRuleHandler, not_found
from executors.rules.max_length import too_long
from ir.rules import Email

LONGEST = 254
_ATOM = r"[\pL\pM\pN!#$%&'*+/=?^_`{|}~-]+"
LABEL = r"[\pL\pN](?:[\pL\pM\pN-]*[\pL\pM\pN])?"
PATTERN = rf"^{_ATOM}(?:\.{_ATOM})*@{LABEL}(?:\.{LABEL})+$"


def violations(rule: Email, values: pa.Array, given: Given) -> pa.BooleanArray:
    text = canonical_text(values)
    return pc.or_(not_found(text, PATTERN), too_long(text, LONGEST))


def message(rule: Email) -> str:
    return "is not an email address"


HANDLER = RowRuleHandler("email", violations, message)
