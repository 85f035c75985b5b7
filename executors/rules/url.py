"""`url`: a pattern that is matched in linear time and covers a part of RFC 3986.

It accepts http and https addresses with a host (labels of letters and digits of all scripts, an IPv4 address, or an
IPv6 address in brackets), a port, and a path, query and fragment without blanks, control characters, quotes or angle
brackets. It does not accept user information and other schemes.
"""

from __future__ import annotations

import pyarrow as pa

from executors.grammar import canonical_text
from executors.rules.base import Given, RowRuleHandler, not_found
from executors.rules.email import LABEL
from ir.rules import Url

_HOST = rf"(?:{LABEL}(?:\.{LABEL})*\.?|\[[0-9A-Fa-f:.]+\])"
PATTERN = rf"^(?i:https?)://{_HOST}(?::[0-9]{{1,5}})?(?:[/?#][^\s\pZ\pC\"<>]*)?$"


def violations(rule: Url, values: pa.Array, given: Given) -> pa.BooleanArray:
    return not_found(canonical_text(values), PATTERN)


def message(rule: Url) -> str:
    return "is not an http or https address"


HANDLER = RowRuleHandler("url", violations, message)
