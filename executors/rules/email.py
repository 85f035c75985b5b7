"""`email`: a pattern that is matched in linear time and covers a part of RFC 5322.

It accepts letters and digits of all scripts, the characters common in mailbox names, single dots that are not at the
ends, and a domain of at least two labels that neither begin nor end with a hyphen. It does not accept quoted names,
comments and IP addresses.
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
