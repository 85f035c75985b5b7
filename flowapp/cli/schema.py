"""`flow schema`: the JSON Schema of pipeline documents, for editors and other programs."""

from __future__ import annotations
