"""Inserts compiled transforms into the manifests that refer to them, so that each document is complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from ir.diagnostics import Diagnostic, listed, shown
from ir.documents import Document
from ir.json_diff import are_equal
from ir.pointers import ROOT, Pointer
from ir.structure import structural_diagnostics
from ir.transform_code.codes import fault
from ir.transform_code.compiled import CompiledTransforms, hash_source

REFERENCE = "compiled"
"""The field of a manifest that names a file of compiled transforms instead of operations."""


def read_compiled(document: Document) -> tuple[CompiledTransforms | None, list[Diagnostic]]:
    """Return the transforms of a file, None if it has errors, and the errors."""
    try:
        compiled = CompiledTransforms.read(document.value)
    except ValidationError as error:
        return None, list(structural_diagnostics(error, CompiledTransforms))
    faults = list(compiled.check(ROOT))
    return (None if faults or document.faults else compiled), faults


def compare_source(compiled: CompiledTransforms, files: Mapping[str, str | bytes]) -> Iterator[Diagnostic]:
    """Yield the errors of the source of compiled transforms: it has changed, or is missing."""
    source = files.get(compiled.source_file)
    if source is None:
        message = f"The source {compiled.source_file} is not in the project, so that it cannot be compared."
        yield fault("transforms.source_missing", ROOT / "source_file", message)
    elif hash_source(source.encode() if isinstance(source, str) else source) != compiled.source_hash:
        message = f"{compiled.source_file} has changed since it was compiled."
        hint = f"Run: flow compile {compiled.source_file}"
        yield fault("transforms.outdated", ROOT / "source_hash", message, hint=hint)


@dataclass(slots=True)
class CompiledFiles:
    """The compiled files of a project by name, None for those with errors, and which of them are used."""

    by_name: Mapping[str, CompiledTransforms | None]
    used: set[str] = field(default_factory=set)

    def find(self, name: Any, pipeline: Any, node: Any, at: Pointer) -> tuple[list[Any] | None, list[Diagnostic]]:
        """Return the operations of a node and errors. Operations are None without an error if the file itself has
        errors."""
        if name not in self.by_name:
            known = f"The folder has {listed(self.by_name)}." if self.by_name else "Run: flow compile"
            return None, [fault("transforms.unknown", at, f"There is no file {shown(name)} here.", hint=known)]
        self.used.add(name)
        compiled = self.by_name[name]
        if compiled is None:
            return None, []
        if compiled.pipeline_id != pipeline:
            message = f"{name} is compiled for the pipeline {compiled.pipeline_id!r}, not {shown(pipeline)}."
            return None, [fault("transforms.unknown", at, message)]
        ops = compiled.ops_of(node)
        if ops is None:
            nodes = listed(one.node for one in compiled.plan)
            message = f"{name} has no operations for the node {shown(node)}, but for {nodes}."
            hint = f'Declare them with @pipeline("{pipeline}", node="{node}"), or rename the node.'
            return None, [fault("transforms.unknown", at, message, hint=hint)]
        return ops, []

    def complete(self, value: dict[str, Any]) -> tuple[dict[str, Any] | None, dict[Pointer, Pointer], list[Diagnostic]]:
        """Return a full document with the operations of its compiled nodes, the origins of their positions, and errors.

        The document is None if operations are missing.
        """
        nodes, origins, faults, complete = [], {ROOT: ROOT}, [], True
        for i, node in enumerate(value["nodes"]) if isinstance(value.get("nodes"), list) else ():
            if isinstance(node, dict) and REFERENCE in node:
                at = ROOT / "nodes" / i / REFERENCE
                ops, found = self._ops_of(node, value.get("id"), at)
                faults += found
                complete = complete and ops is not None
                node = {key: item for key, item in node.items() if key != REFERENCE} | {"ops": ops}
                origins[ROOT / "nodes" / i / "ops"] = at
            nodes.append(node)
        if len(origins) == 1:
            return value, origins, faults
        return ({**value, "nodes": nodes} if complete else None), origins, faults

    def _ops_of(self, node: dict[str, Any], pipeline: Any, at: Pointer) -> tuple[list[Any] | None, list[Diagnostic]]:
        if node.get("kind") != "transform" or "ops" in node:
            message = "Only a transform node without ops refers to compiled transforms."
            return None, [fault("transforms.misplaced", at, message)]
        return self.find(node[REFERENCE], pipeline, node.get("id"), at)

    def unused(self) -> Iterator[str]:
        """Yield the files that no manifest refers to."""
        return (name for name in self.by_name if name not in self.used)


def refer_again(manifest: dict[str, Any], declared: dict[str, Any], current: dict[str, Any]) -> dict[str, Any]:
    """Return the current document with the references of its manifest to compiled transforms, where it still has the
    operations of these transforms."""
    references = {node["id"]: node[REFERENCE] for node in manifest["nodes"] if REFERENCE in node}
    compiled = {node["id"]: node["ops"] for node in declared["nodes"] if node["id"] in references}
    nodes = [
        {**{key: item for key, item in node.items() if key != "ops"}, REFERENCE: references[node["id"]]}
        if node["id"] in compiled and are_equal(node.get("ops"), compiled[node["id"]])
        else node
        for node in current["nodes"]
    ]
    return {**current, "nodes": nodes}
