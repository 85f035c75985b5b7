"""Reads a project: all its files, with all their diagnostics in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pydantic import ValidationError

from ir.allowances import Allowances
from ir.base import Spec
from ir.budget import BudgetExceeded, budget
from ir.diagnostics import Diagnostic, InvalidPipeline, diagnose
from ir.documents import Document, Syntax, read_document, read_text
from ir.manifests.compiled_files import REFERENCE, CompiledFiles, compare_source, read_compiled
from ir.manifests.connections import secrets_in_text
from ir.manifests.diagnostics import FileDiagnostic, InvalidProject, fault
from ir.manifests.expanding import SHAPE, Expanded, expand
from ir.manifests.project import (
    FOLDER,
    MAX_FILES,
    PROJECT_FILE,
    SOURCES,
    Manifest,
    Project,
    ProjectConnection,
    ProjectPipeline,
    ProjectSpec,
)
from ir.manifests.short import Defaults, ShortPipeline, is_full
from ir.parse import parsePipelineIR
from ir.pointers import ROOT, Pointer
from ir.salvage import read_some
from ir.structure import structural_diagnostics
from ir.transform_code.codes import fault as transform_fault
from ir.transform_code.compiled import COMPILED, LANGUAGES, CompiledTransforms

_MANIFEST = re.compile(rf"{FOLDER}/[^/]+\.(toml|json)")
_SOURCE = re.compile(rf"{SOURCES}/[^/]+({'|'.join(map(re.escape, LANGUAGES))})")
_SYNTAXES: Mapping[str, Syntax] = {"toml": "toml", "json": "json"}
SECONDS = 30.0
"""CPU seconds for reading a whole project."""

Part = TypeVar("Part", bound=Spec)


def is_manifest(name: str) -> bool:
    """Return whether a file of that name, relative to the project's folder, declares pipelines."""
    return name == PROJECT_FILE or (_MANIFEST.fullmatch(name) is not None and not name.endswith(COMPILED))


def is_project_file(name: str) -> bool:
    """Return whether a file of that name belongs to the project: a manifest, compiled transforms or their source."""
    return name == PROJECT_FILE or any(pattern.fullmatch(name) for pattern in (_MANIFEST, _SOURCE))


def read_project(
    files: Mapping[str, str | bytes], *, streaming: bool = False, allowances: Allowances | None = None
) -> Project:
    """Read all manifests among the files, which are named relative to the project's folder. No source code is run.

    Raises InvalidProject with the diagnostics of all files. `streaming` and `allowances` are those of
    `parsePipelineIR`.
    """
    return _Reading(streaming, allowances).read({name: files[name] for name in sorted(files) if is_project_file(name)})


def complete_manifest(text: str | bytes, syntax: Syntax, file: str, files: Mapping[str, str | bytes]) -> dict[str, Any]:
    """Return a full document with the operations of the compiled transforms that it refers to, which are among the
    files. Raises InvalidProject."""
    reading = _Reading(False, None)
    document = reading.open(file, text, syntax)
    completed = reading.complete(_File(file, syntax, document), files) if document is not None else None
    reading.require_valid()
    assert completed is not None  # noqa: S101 - what is missing is a fault
    return completed


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    syntax: Syntax
    document: Document

    def line_of(self, at: Pointer) -> int:
        position = self.document.position_of
        return position(at)[0] if position is not None else 1


class _Reading:
    """One pass over the files. Errors are collected; valid parts are read."""

    def __init__(self, streaming: bool, allowances: Allowances | None) -> None:
        self._streaming, self._allowances = streaming, allowances
        self._found: list[FileDiagnostic] = []
        self.defaults = Defaults()
        self.pipelines: list[ProjectPipeline] = []
        self._connections: dict[str, ProjectConnection] = {}
        self._compiled = CompiledFiles({})

    def read(self, files: Mapping[str, str | bytes]) -> Project:
        if len(files) > MAX_FILES:
            message = f"The project has {len(files)} files; {MAX_FILES} is the limit."
            found = replace(fault("manifest.too_many", ROOT, message), line=1, column=1)
            raise InvalidProject([FileDiagnostic(PROJECT_FILE, found)])
        self._compiled = CompiledFiles(dict(self._read_compiled(files)))
        project = self._read_project_file(files)
        for name, text in files.items():
            if name != PROJECT_FILE and is_manifest(name):
                syntax = _SYNTAXES[name.rpartition(".")[2]]
                document = self.open(name, text, syntax)
                if document is not None:
                    self.read_entry(_File(name, syntax, document), ROOT, document.value)
        for name in self._compiled.unused():
            found = transform_fault(
                "transforms.unused", ROOT, "No manifest refers to these transforms, so that they do not run."
            )
            self._found.append(FileDiagnostic(f"{FOLDER}/{name}", replace(found, line=1, column=1)))
        merged = self._merged()
        self.require_valid()
        return Project(
            name=str(project["name"]),
            version=project.get("version"),
            texts={name: text if isinstance(text, str) else text.decode() for name, text in files.items()},
            connections=self._connections,
            pipelines=merged,
            warnings=tuple(self._found),
        )

    def complete(self, file: _File, files: Mapping[str, str | bytes]) -> dict[str, Any] | None:
        self._compiled = CompiledFiles(dict(self._read_compiled(files)))
        completed, _, faults = self._compiled.complete(file.document.value)
        self._report(file, faults)
        return completed

    def require_valid(self) -> None:
        if any(found.is_error for found in self._found):
            raise InvalidProject(sorted(self._found, key=_position))

    def open(self, name: str, text: str | bytes, syntax: Syntax) -> Document | None:
        """Read a text and report its errors. Return None if it cannot be read at all."""
        try:
            with budget():
                document = read_document(text, syntax)
        except InvalidPipeline as error:
            self._found += [FileDiagnostic(name, diagnostic) for diagnostic in error.diagnostics]
            return None
        except BudgetExceeded:
            self._found.append(FileDiagnostic(name, diagnose("document.too_costly", ROOT, "The file is too complex.")))
            return None
        self._report(_File(name, syntax, document), document.faults)
        return document

    def _report(self, file: _File, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            placed = file.document.with_position(replace(diagnostic, line=None, column=None))
            found = FileDiagnostic(file.name, placed)
            if found not in self._found:
                self._found.append(found)

    def _read_compiled(self, files: Mapping[str, str | bytes]) -> Iterator[tuple[str, CompiledTransforms | None]]:
        for name, text in files.items():
            if _SOURCE.fullmatch(name):
                self._check_source(name, text)
            if name.endswith(COMPILED):
                document = self.open(name, text, "json")
                if document is None:
                    yield name.removeprefix(f"{FOLDER}/"), None
                    continue
                compiled, faults = read_compiled(document)
                faults += compare_source(compiled, files) if compiled is not None else ()
                self._report(_File(name, "json", document), faults)
                yield name.removeprefix(f"{FOLDER}/"), compiled

    def _check_source(self, name: str, text: str | bytes) -> None:
        """Report a source that is not text. It is compared with its hash, and neither parsed nor run."""
        try:
            read_text(text)
        except InvalidPipeline as error:
            self._found += [FileDiagnostic(name, diagnostic) for diagnostic in error.diagnostics]

    # --- flow.toml --------------------------------------------------------------------------------------------

    def _read_project_file(self, files: Mapping[str, str | bytes]) -> dict[str, Any]:
        """Read connections, defaults and pipelines of flow.toml; return its [project]."""
        if PROJECT_FILE not in files:
            missing = fault("manifest.project_missing", ROOT, f"The project has no {PROJECT_FILE}.")
            self._found.append(FileDiagnostic(PROJECT_FILE, replace(missing, line=1, column=1)))
            return {}
        document = self.open(PROJECT_FILE, files[PROJECT_FILE], "toml")
        if document is None:
            return {}
        file = _File(PROJECT_FILE, "toml", document)
        spec, faults = _read_part(ProjectSpec, document.value, _faulty(document.faults))
        secrets = [
            found
            for name, raw in _entries(document.value.get("connections"))
            for found in secrets_in_text(raw, ROOT / "connections" / name)
        ]
        self._report(file, [*_not_below(faults, _faulty(secrets)), *secrets])
        if spec is not None:
            self._read_connections(file, spec)
        self.defaults = read_some(Defaults.read, document.value.get("defaults", {})) or Defaults()
        entries = document.value.get("pipeline")
        for i, value in enumerate(entries if isinstance(entries, list) else ()):
            self.read_entry(file, ROOT / "pipeline" / i, value)
        about = document.value.get("project")
        return about if isinstance(about, dict) else {}

    def _read_connections(self, file: _File, spec: ProjectSpec) -> None:
        for name, connection in spec.connections.items():
            at = ROOT / "connections" / name
            self._report(file, (found for part, place in connection.parts(at) for found in part.check(place)))
            self._report(file, _refused_variables(connection, at))
            self._connections[name] = ProjectConnection(name, connection, file.line_of(at))

    # --- pipelines --------------------------------------------------------------------------------------------

    def read_entry(self, file: _File, at: Pointer, value: Any) -> None:
        """Read a pipeline of a file, which is at this position in the file."""
        manifest = Manifest(file.name, file.syntax, at, value, file.line_of(at), is_full(value))
        known = _faulty(file.document.faults)
        if manifest.is_full:
            document, origins, faults = self._compiled.complete(value)
            self._report(file, [_moved(found, at) for found in faults])
            if document is not None:
                self._parse(file, manifest, Expanded(document, None, origins), known)
            return
        short, faults = _read_part(ShortPipeline, value, {Pointer(p[len(at) :]) for p in known if p[: len(at)] == at})
        if short is not None and short.compiled is not None:
            short, found = self._complete_short(short)
            faults += found
        if short is not None and all(d.code == "field.unknown" and len(d.path) == 1 for d in faults):
            expanded, more = expand(short, self.defaults)
            faults += [*short.check(ROOT), *more]
            for one in expanded:
                self._parse(file, manifest, one, known)
        self._report(file, [_moved(found, at) for found in faults])

    def _complete_short(self, short: ShortPipeline) -> tuple[ShortPipeline | None, list[Diagnostic]]:
        """Return a short form with its compiled operations; None if they are missing."""
        at = ROOT / REFERENCE
        if short.transforms is not None:
            return None, [transform_fault("transforms.misplaced", at, "The entry has both transforms and compiled.")]
        ops, faults = self._compiled.find(short.compiled, short.id, SHAPE, at)
        if ops is None:
            return None, faults
        return ShortPipeline.read(short.to_document() | {"transforms": ops}), faults

    def _parse(self, file: _File, manifest: Manifest, expanded: Expanded, known: set[Pointer]) -> None:
        """Parse a document and report its errors at their positions in the file."""
        try:
            parsed = parsePipelineIR(
                expanded.document, streaming=self._streaming, allowances=self._allowances, seconds=SECONDS
            )
            found = parsed.warnings
        except InvalidPipeline as error:
            parsed, found = None, error.diagnostics
        placed = [_moved(expanded.placed(d), manifest.at) for d in found]
        placed = list({(str(d.path), d.code, d.message): d for d in placed}.values())
        self._report(file, _not_below(placed, known))
        if parsed is not None:
            self.pipelines.append(ProjectPipeline(parsed.pipeline.id, parsed, manifest, expanded.table))

    def _merged(self) -> dict[str, ProjectPipeline]:
        merged: dict[str, ProjectPipeline] = {}
        for pipeline in self.pipelines:
            first = merged.setdefault(pipeline.id, pipeline)
            if first is not pipeline:
                self._found.append(_duplicate(first, pipeline))
        return merged


def _duplicate(first: ProjectPipeline, second: ProjectPipeline) -> FileDiagnostic:
    one, other = first.manifest, second.manifest
    found = fault(
        "manifest.duplicate_id",
        other.at / "id",
        f"The pipeline {first.id!r} is defined in two places: {one.location} and {other.location}.",
        hint=" ".join(["Keep one of them, or give one of them another id.", *_conversion(other, one)]),
    )
    return FileDiagnostic(other.file, replace(found, line=other.line, column=1))


def _conversion(*manifests: Manifest) -> Iterator[str]:
    """Yield a sentence with the command that converts the first of these to the other syntax. An entry of flow.toml is
    not a file."""
    for manifest in manifests:
        if manifest.file != PROJECT_FILE:
            syntax = "json" if manifest.syntax == "toml" else "toml"
            yield f"To have it in the other syntax: flow pipeline convert {manifest.file} --to {syntax}."
            return


def _read_part(model: type[Part], value: Any, known: set[Pointer]) -> tuple[Part | None, list[Diagnostic]]:
    """Return a part as far as it can be read, and its structural errors beyond known ones."""
    try:
        return model.read(value), []
    except ValidationError as error:
        faults = list(structural_diagnostics(error, model))
        return read_some(model.read, value), _not_below(faults, known)


def _refused_variables(connection: Spec, at: Pointer) -> Iterator[Diagnostic]:
    """Check the variables of headers, which are not parts of the document."""
    for name, value in getattr(connection, "headers", {}).items():
        yield from value.check(at / "headers" / name)


def _entries(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _faulty(diagnostics: Iterable[Diagnostic]) -> set[Pointer]:
    return {diagnostic.path for diagnostic in diagnostics if diagnostic.severity == "error" and diagnostic.path}


def _not_below(diagnostics: Iterable[Diagnostic], places: set[Pointer]) -> list[Diagnostic]:
    """Return the diagnostics that are not at or below one of these positions, which have been reported."""
    return [d for d in diagnostics if not any(Pointer(d.path[:i]) in places for i in range(1, len(d.path) + 1))]


def _moved(diagnostic: Diagnostic, at: Pointer) -> Diagnostic:
    """Return the diagnostic of an entry with its position in the file. Its fixes are adapted."""
    fixes = tuple(
        [{**step, **{key: f"{at}{step[key]}" for key in ("path", "from") if key in step}} for step in fix]
        for fix in diagnostic.fixes
    )
    return replace(diagnostic, path=Pointer((*at, *diagnostic.path)), fixes=fixes)


def _position(found: FileDiagnostic) -> tuple[str, int, int]:
    return found.file, found.diagnostic.line or 0, found.diagnostic.column or 0
