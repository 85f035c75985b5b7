"""All codes of errors and warnings of the control plane, and of all layers together.

`tools/errors_page.py` generates `docs/reference/errors.md` from them."""

from __future__ import annotations

from executors.errors import ERROR_CODES as OF_RUNS
from executors.errors import WARNING_CODES as WARNINGS_OF_RUNS
from executors.errors import unreached_codes
from flowapp.error_codes import access, backfills, manifests, pipelines, runs, services, streams, triggers
from ir.error_codes import ERROR_CODES as OF_DOCUMENTS
from ir.error_codes import WarningCode, table_of, warnings_of

_CODES = (
    *access.CODES,
    *backfills.CODES,
    *manifests.CODES,
    *pipelines.CODES,
    *runs.CODES,
    *services.CODES,
    *streams.CODES,
    *triggers.CODES,
)

ERROR_CODES = table_of(*OF_DOCUMENTS.values(), *OF_RUNS.values(), *_CODES, *unreached_codes("mail", "The mail server"))
"""The error codes of all layers."""

WARNING_CODES = warnings_of(
    *WARNINGS_OF_RUNS.values(),
    WarningCode(
        "rows.out_of_band",
        "A load had an unusual row count.",
        "Compare the source with its usual content. If the new count is normal, widen expectedRowCountDelta.",
    ),
)
"""The warning codes of all layers."""


def anchor_of(code: str) -> str:
    """Return the anchor of a code in `docs/reference/errors.md`."""
    return code.replace(".", "")
