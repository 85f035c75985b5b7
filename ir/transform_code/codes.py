"""The codes of diagnostics of transforms written as code."""

from __future__ import annotations

from functools import partial

from ir.codes import Code
from ir.diagnostics import diagnose
from ir.kinds import KindTable

_CODES = (
    Code("transforms.none", "error", 'Decorate a function with @flow.pipeline("ID"), or call pipeline("ID", …).'),
    Code("transforms.repeated", "error", "Declare each node of a pipeline once, in one source."),
    Code("transforms.call_refused", "error", "Use the methods and functions that the documentation lists."),
    Code("transforms.result_unused", "error", "Return the result of the last call, each call on the result before."),
    Code("transforms.outdated", "error", "Compile the source again with `flow compile`."),
    Code(
        "transforms.source_missing",
        "warning",
        "Add the source to the project, or write ops in the manifest.",
    ),
    Code("transforms.unknown", "error", "Name the file pipelines/ID.transforms.json of the same pipeline."),
    Code("transforms.misplaced", "error", "Remove ops, or remove compiled."),
    Code("transforms.unused", "warning", 'Refer to it with "compiled" in the manifest of the pipeline, or remove it.'),
    Code("transforms.id_malformed", "error", "Use the IDs of the pipeline and the node as the manifest has them."),
    Code("transforms.source_failed", "error", "Correct the source. It runs where `flow compile` runs."),
)
TRANSFORM_CODES: KindTable[Code] = KindTable("transform code", ((code.name, code) for code in _CODES))

fault = partial(diagnose, codes=TRANSFORM_CODES)
"""Return a diagnostic of a transform written as code."""
