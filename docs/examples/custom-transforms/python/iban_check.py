"""The country of an IBAN. A row whose IBAN has a wrong check digit is rejected."""

from __future__ import annotations

import base64

from arrow_texts import read_names, read_texts, write_schema, write_texts
from componentize_py_types import Err


class WitWorld:
    def prepare(self, schema: str, config: str) -> str:
        """Return the columns of the results. Only one column is expected."""
        if len(names := read_names(base64.b64decode(schema))) != 1:
            raise Err(f"one input is expected, not {len(names)}")
        return _encode(write_schema(["country", "_error"]))

    def apply(self, rows: str) -> str:
        (ibans,) = read_texts(base64.b64decode(rows)).values()
        found = [_country(iban) for iban in ibans]
        return _encode(write_texts({"country": [one for one, _ in found], "_error": [why for _, why in found]}))


def _country(iban: str | None) -> tuple[str | None, str | None]:
    """Return the country, or the reason why the row is rejected."""
    if iban is None:
        return None, None
    text = iban.replace(" ", "").upper()
    if not (text.isascii() and text.isalnum() and 15 <= len(text) <= 34 and text[:2].isalpha()):
        return None, "this is no IBAN"
    digits = "".join(str(int(one, 36)) for one in text[4:] + text[:4])
    return (text[:2], None) if int(digits) % 97 == 1 else (None, "the check digits of the IBAN are wrong")


def _encode(stream: bytes) -> str:
    return base64.b64encode(stream).decode()
