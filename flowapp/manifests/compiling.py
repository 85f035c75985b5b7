"""Compile the sources of a project's transforms, and find outdated files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flowapp.manifests.sources import record_source
from ir.errors import FlowError
from ir.manifests.diagnostics import FileDiagnostic, InvalidProject
from ir.manifests.project import FOLDER, SOURCES
from ir.pointers import ROOT
from ir.transform_code.codes import fault
from ir.transform_code.compiled import COMPILED, LANGUAGES, hash_source
from ir.transform_code.compiling import compile_recordings


@dataclass(slots=True)
class Compiled:
    """The result of compiling: texts by file name, and compiled files whose source no longer makes them."""

    folder: Path
    texts: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)

    @property
    def outdated(self) -> dict[str, str | None]:
        """Return the files that differ from the compiled texts, with None for files to remove."""
        changed = {name: text for name, text in self.texts.items() if _read(self.folder / name) != text}
        return changed | dict.fromkeys(self.gone)


def find_sources(names: Sequence[str]) -> tuple[Path, list[Path]]:
    """Return the folder of the project and its sources: the named ones, or all. Raises FlowError."""
    if not names:
        found = sorted(path for path in Path(SOURCES).glob("*") if path.suffix in LANGUAGES)
        if not found:
            raise FlowError(
                "file.unreadable",
                f"There is no source in the folder {SOURCES}.",
                hint=f"Run the command in the folder of the project, or write {SOURCES}/NAME.py or NAME.ts.",
            )
        return Path("."), found
    paths = [Path(name) for name in names]
    folders = {path.absolute().parent for path in paths}
    wrong = next((p for p in paths if p.suffix not in LANGUAGES or p.absolute().parent.name != SOURCES), None)
    if wrong is not None or len(folders) > 1:
        raise FlowError(
            "file.unreadable",
            f"{wrong or paths[1]} is no source of the project.",
            hint=f"Sources are the files {SOURCES}/NAME.py and NAME.ts of one project.",
        )
    missing = next((path for path in paths if not path.is_file()), None)
    if missing is not None:
        raise FlowError("file.unreadable", f"{missing} cannot be read: no such file.", hint="Check the path.")
    return folders.pop().parent, paths


def compile_sources(folder: Path, sources: Sequence[Path]) -> Compiled:
    """Run the sources and return the resulting files. Nothing is written. Raises InvalidProject and FlowError."""
    compiled, faults = Compiled(folder), []
    for source in sources:
        try:
            documents = _compile(source)
            faults += list(_conflicts(compiled, source, documents))
        except InvalidProject as error:
            faults += error.diagnostics
            continue
        texts = {_file_name(document["pipeline_id"]): _text(document) for document in documents}
        compiled.texts |= texts
        compiled.gone += [name for name, origin in _origins(folder) if origin == _name(source) and name not in texts]
    if faults:
        raise InvalidProject(faults)
    return compiled


def _compile(source: Path) -> list[dict[str, Any]]:
    language = LANGUAGES[source.suffix]
    recorded = record_source(source.absolute(), language)
    if error := recorded.get("error"):
        found = fault("transforms.source_failed", ROOT, error["message"], hint=error["hint"])
        raise InvalidProject([FileDiagnostic(_name(source), replace(found, line=error["line"]))])
    source_hash = hash_source(source.read_bytes())
    return compile_recordings(recorded["recorded"], file=_name(source), language=language, source_hash=source_hash)


def _conflicts(compiled: Compiled, source: Path, documents: list[dict[str, Any]]) -> Iterator[FileDiagnostic]:
    """Yield an error for a second source of a pipeline. An existing compiled file belongs to its source as long as that
    exists."""
    origins = dict(_origins(compiled.folder))
    for document in documents:
        name = _file_name(document["pipeline_id"])
        other = json.loads(compiled.texts[name])["source_file"] if name in compiled.texts else origins.get(name)
        if other not in (None, _name(source)) and (name in compiled.texts or (compiled.folder / other).exists()):
            message = f"The pipeline {document['pipeline_id']!r} is also declared in {other}."
            yield FileDiagnostic(_name(source), replace(fault("transforms.repeated", ROOT, message), line=1))


def _origins(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Yield the compiled files of a folder, each with the source that it names."""
    for path in sorted((folder / FOLDER).glob(f"*{COMPILED}")):
        try:
            origin = json.loads(path.read_text(encoding="utf-8")).get("source_file")
        except (ValueError, AttributeError):
            origin = None
        yield f"{FOLDER}/{path.name}", origin if isinstance(origin, str) else None


def _text(document: dict[str, Any]) -> str:
    """Return JSON with few values per line, so that diffs are easy to review."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _file_name(pipeline: str) -> str:
    return f"{FOLDER}/{pipeline}{COMPILED}"


def _name(source: Path) -> str:
    return f"{SOURCES}/{source.name}"


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
