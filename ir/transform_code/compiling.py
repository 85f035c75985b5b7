"""Builds compiled transforms from the recording of a source, with all errors and their lines in the source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ir.base import Id
from ir.codes import CODES
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.manifests.diagnostics import FileDiagnostic, InvalidProject
from ir.pointers import ROOT, Pointer, value_at
from ir.salvage import sound_parts
from ir.structure import structural_diagnostics
from ir.transform_code.codes import fault
from ir.transform_code.compiled import (
    ENGINE,
    ENGINE_VERSION,
    TRANSFORMS_SCHEMA_ID,
    CompiledNode,
    Language,
)
from ir.transform_code.methods import ops_of
from ir.transform_code.recording import CodeError, Recording


def compile_recordings(
    recorded: Sequence[dict[str, Any]], *, file: str, language: Language, source_hash: str
) -> list[dict[str, Any]]:
    """Return the compiled transforms of a source, one document for each pipeline. Raises InvalidProject."""
    recordings = [Recording.read(one) for one in recorded]
    faults: list[Diagnostic] = []
    plans: dict[str, list[dict[str, Any]]] = {}
    if not recordings:
        faults.append(_at(fault("transforms.none", ROOT, "The source declares no pipeline."), 1))
    for recording in recordings:
        faults += _malformed_ids(recording)
        nodes = plans.setdefault(recording.pipeline, [])
        if any(node["node"] == recording.node for node in nodes):
            message = f"The node {recording.node!r} of {recording.pipeline!r} is declared twice."
            faults.append(_at(fault("transforms.repeated", ROOT, message), recording.line))
        compiler = _Compiler(recording)
        nodes.append({"node": recording.node, "ops": compiler.compile()})
        faults += compiler.faults
    if faults:
        raise InvalidProject([FileDiagnostic(file, found) for found in faults])
    return [
        {
            "$schema": TRANSFORMS_SCHEMA_ID,
            "pipeline_id": pipeline,
            "engine": ENGINE,
            "engine_version": ENGINE_VERSION,
            "source_lang": language,
            "source_file": file,
            "source_hash": source_hash,
            "plan": nodes,
        }
        for pipeline, nodes in plans.items()
    ]


def _malformed_ids(recording: Recording) -> Iterator[Diagnostic]:
    for name in (recording.pipeline, recording.node):
        try:
            _ID.validate_python(name)
        except ValidationError:
            message = f"{shown(name)} is not an ID: lower-case letters, digits, - and _, up to 63."
            yield _at(fault("transforms.id_malformed", ROOT, message), recording.line)


_ID: TypeAdapter[str] = TypeAdapter(Id, config=ConfigDict(strict=True, regex_engine="rust-regex"))


class _Compiler:
    """Compiles one recording. Errors are collected; the operations are valid only if there are none."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._ops: list[dict[str, Any]] = []
        self._lines: list[int] = []
        self.faults: list[Diagnostic] = []

    def compile(self) -> list[dict[str, Any]]:
        self._check_used()
        for call in self._recording.calls:
            try:
                made = ops_of(call)
            except CodeError as error:
                self._refuse(error.code, error.message, error.line or call.line, error.hint)
                continue
            self._ops += made
            self._lines += [call.line] * len(made)
        self.faults += self._checked() if self._ops else ()
        return self._ops

    def _check_used(self) -> None:
        """Check that all results are used: an unused result would be a silent difference between the source and the
        plan."""
        recording = self._recording
        if recording.returned is None:
            message = "The function does not return the data frame that it was given, with its operations."
            self._refuse("transforms.result_unused", message, recording.line)
            return
        if not recording.calls:
            self._refuse("transforms.result_unused", "The function calls no operation.", recording.line)
        used = {recording.returned}
        for i in range(len(recording.calls), 0, -1):
            call = recording.calls[i - 1]
            if i in used:
                used.add(call.after)
            else:
                message = f"The result of {call.method}() is not used, so that it would have no effect."
                self._refuse("transforms.result_unused", message, call.line)

    def _checked(self) -> Iterator[Diagnostic]:
        """Check the operations like those of a document. Errors refer to the lines of their calls."""
        node = {"node": self._recording.node, "ops": self._ops}
        try:
            CompiledNode.read(node)
            pipeline_faults: list[Diagnostic] = []
        except ValidationError as error:
            pipeline_faults = list(structural_diagnostics(error, CompiledNode))
        for part in sound_parts(CompiledNode, node, ROOT):
            pipeline_faults += part.spec.check(part.at) if part.whole else ()
        for found in pipeline_faults:
            yield _at(found, self._line_of(found.path), self._named(found))

    def _line_of(self, at: Pointer) -> int:
        index = at[1] if len(at) > 1 and at[0] == "ops" else None
        return self._lines[index] if isinstance(index, int) else self._recording.line

    def _named(self, found: Diagnostic) -> str:
        """Return the name of the field with the error, which a line number alone does not identify."""
        name = value_at({"ops": self._ops}, Pointer((*found.path[:2], "op"))) if len(found.path) > 2 else None
        return f"{name}, {'.'.join(map(str, found.path[2:]))}: " if name else ""

    def _refuse(self, code: str, message: str, line: int, hint: str = "") -> None:
        make = diagnose if code in CODES else fault
        self.faults.append(_at(make(code, ROOT, message, hint=hint), line))


def _at(found: Diagnostic, line: int, named: str = "") -> Diagnostic:
    return replace(found, path=ROOT, line=line, column=None, message=named + found.message, fixes=())
