"""Find the modules that documents name."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import F

from flowapp.accounts.models import Workspace
from flowapp.modules.models import CustomModule
from flowapp.modules.services import why_missing, why_not_granted
from flowapp.pipelines.documents import syntax_of
from flowapp.pipelines.models import PipelineVersion
from ir.diagnostics import Diagnostic
from ir.pointers import ROOT, Pointer


def pipelines_by_module(workspace: Workspace) -> dict[str, list[str]]:
    """Return the ids of pipelines whose newest version names a build, by how it is named."""
    newest = PipelineVersion.objects.filter(pipeline__workspace=workspace, number=F("pipeline__latest_number"))
    using = newest.filter(document__contains="custom").order_by("pipeline__slug")
    found: defaultdict[str, list[str]] = defaultdict(list)
    for slug, text in using.values_list("pipeline__slug", "document").iterator():
        for ref in modules_in(text):
            found[ref].append(slug)
    return dict(found)


def modules_in(text: str) -> set[str]:
    """Return the modules that a document names, also if this release cannot parse the document."""
    document = (json.loads if syntax_of(text) == "json" else tomllib.loads)(text.removeprefix("\ufeff"))
    return {op["module"] for _, op in customs_in(document) if isinstance(op.get("module"), str)}


def customs_in(document: Any) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield the custom ops of a possibly invalid document, with their positions."""
    for i, node in _objects(document.get("nodes") if isinstance(document, dict) else None):
        for number, op in _objects(node.get("ops")):
            if op.get("op") == "custom":
                yield ROOT / "nodes" / i / "ops" / number, op


def _objects(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((i, one) for i, one in enumerate(value if isinstance(value, list) else ()) if isinstance(one, dict))


def check_modules(document: Any, builds: Mapping[str, CustomModule]) -> Iterator[Diagnostic]:
    """Report modules that are not in the workspace, and access that is not granted. The parser knows no workspace."""
    for at, op in customs_in(document):
        ref, access = op.get("module"), op.get("access")
        if not isinstance(ref, str) or "@sha256:" not in ref:
            continue
        build = builds.get(ref)
        if build is None:
            yield _missing(at / "module", ref, builds)
        elif lacking := [kind for kind in access or () if kind not in build.granted] if _is_list(access) else []:
            yield Diagnostic(
                at / "access",
                "custom.access_not_granted",
                "error",
                why_not_granted(build.name, list(map(str, lacking))),
                "Let an admin grant it on the page Custom transforms, or remove it.",
                fixes=([{"op": "remove", "path": str(at / "access")}],),
            )


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _missing(at: Pointer, ref: str, builds: Mapping[str, CustomModule]) -> Diagnostic:
    same = [one for one in builds if one.partition("@")[0] == ref.partition("@")[0]]
    return Diagnostic(
        at,
        "custom.module_missing",
        "error",
        why_missing(ref, builds),
        "Choose a module of the workspace, or let an admin upload this one on the page Custom transforms.",
        fixes=tuple([{"op": "replace", "path": str(at), "value": one}] for one in same[:1]),
    )
