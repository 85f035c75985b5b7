"""Converts values to a column type: text by one grammar, typed Arrow values without silent loss.

Parsing gives (typed, bad): an array of the type's Arrow travel type, NULL where the value is NULL or bad, and a boolean
array without NULLs that is true where a value that is not NULL could not become the type.
"""

from __future__ import annotations

from executors.grammar.canonical import canonical_text
from executors.grammar.convert import convert_column
from executors.grammar.numbers import exact_of
from executors.grammar.parse import PLAIN, Written, parse_column

__all__ = ["PLAIN", "Written", "canonical_text", "convert_column", "exact_of", "parse_column"]
