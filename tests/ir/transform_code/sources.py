"""Compiles sources in the process of the test; `flow compile` does this in a separate process."""

from __future__ import annotations

import linecache
from typing import Any

from flow_transforms.recording import Source, record_all
from ir.manifests.diagnostics import InvalidProject
from ir.transform_code.compiling import compile_recordings

HEAD = "import flow_transforms as flow\nfrom flow_transforms import functions as F\n\n"
HASH = "sha256:" + "0" * 64


def compile_text(text: str) -> list[dict[str, Any]]:
    Source.file, Source.declared = "transforms/x.py", []
    linecache.clearcache()
    exec(compile(text, Source.file, "exec"), {"__name__": "transforms"})
    return compile_recordings(record_all(), file=Source.file, language="python", source_hash=HASH)


def compile_calls(calls: str) -> list[dict[str, Any]]:
    """Return the operations of calls that begin on line 6, such as `.trim("a")`."""
    text = f'{HEAD}@flow.pipeline("p")\ndef p(df):\n    return (df{calls}\n    )\n'
    (document,) = compile_text(text)
    return document["plan"][0]["ops"]


def faults_of(text: str) -> list[tuple[int | None, str, str, str]]:
    """Return the errors of a source: line, code, message and hint."""
    try:
        compile_text(text)
    except InvalidProject as error:
        found = [one.diagnostic for one in error.diagnostics]
        return [(one.line, one.code, one.message, one.hint) for one in found]
    return []
