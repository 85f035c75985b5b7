"""Add, grant and remove modules, and give runs their code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from executors.api import inspect_module
from executors.model import ModuleCode
from flowapp.accounts.models import Workspace
from flowapp.modules.models import CustomModule
from flowapp.modules.selectors import get_module, list_modules, read_modules
from flowapp.modules.usage import pipelines_by_module
from ir.errors import FlowError
from ir.nodes import Transform
from ir.ops import ACCESSES, Custom
from ir.pipeline import Pipeline

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
MOST_BUILDS = 200


def add_module(workspace: Workspace, name: str, content: bytes, granted: Collection[str], by: str) -> CustomModule:
    """Check and store a module. The same bytes again only replace what is granted. Raises FlowError."""
    if not NAME.fullmatch(name):
        raise FlowError(
            "custom.name_invalid",
            f"{name!r} is not a valid name for a module.",
            hint="A name begins with a lower-case letter and has up to 63 lower-case letters, digits, - and _.",
        )
    if unknown := sorted(set(granted) - set(ACCESSES)):
        raise FlowError(
            "custom.access_unknown",
            f"There is no access {unknown[0]!r}.",
            hint=f"Kinds of access: {', '.join(ACCESSES)}.",
        )
    if list_modules(workspace).count() >= MOST_BUILDS:
        raise FlowError("custom.too_many", f"The workspace has {MOST_BUILDS} modules, the most that it may have.")
    facts = inspect_module(name, content)
    stored, _ = CustomModule.objects.update_or_create(
        workspace=workspace,
        name=name,
        sha256=facts.sha256,
        defaults={"granted": sorted(set(granted))},
        create_defaults={
            "granted": sorted(set(granted)),
            "kind": facts.kind,
            "size": facts.size,
            "imports": list(facts.imports),
            "may_use": list(facts.may_use),
            "content": content,
            "added_by": by[:300],
        },
    )
    return stored


def remove_module(workspace: Workspace, name: str, sha256: str) -> CustomModule:
    """Delete a build and return it. Raises FlowError, `custom.module_used` while the newest version of a pipeline names
    it."""
    build = get_module(workspace, name, sha256)
    if users := pipelines_by_module(workspace).get(build.ref):
        raise FlowError(
            "custom.module_used",
            f"{', '.join(users)} {'use' if len(users) > 1 else 'uses'} this build of {name}.",
            hint="Save versions of these pipelines without it first.",
        )
    build.delete()
    return build


def customs_of(document: Pipeline) -> Iterator[tuple[str, Custom]]:
    """Yield the custom transforms of a document, each with the id of its node."""
    for node in document.nodes:
        if isinstance(node, Transform):
            yield from ((node.id, op) for op in node.ops if isinstance(op, Custom))


def require_modules(workspace: Workspace, document: Pipeline) -> None:
    """Raise FlowError `custom.module_missing` or `custom.access_not_granted` unless all modules of a document exist and
    have what the document declares."""
    customs = list(customs_of(document))
    builds = {build.ref: build for build in list_modules(workspace)} if customs else {}
    for node, op in customs:
        build = builds.get(op.module)
        if build is None:
            raise FlowError("custom.module_missing", why_missing(op.module, builds), node=node)
        if lacking := [kind for kind in op.access if kind not in build.granted]:
            raise FlowError("custom.access_not_granted", why_not_granted(op.name, lacking), node=node)


def resolve_modules(workspace: Workspace, document: Pipeline) -> dict[str, ModuleCode]:
    """Return the code of all modules of a document. Raises the errors of `require_modules`."""
    require_modules(workspace, document)
    refs = {op.module for _, op in customs_of(document)}
    return read_modules(workspace, refs) if refs else {}


def why_missing(ref: str, known: Collection[str]) -> str:
    """Return a sentence about an unknown module, with the hashes that its name has."""
    name, _, hash_ = ref.partition("@sha256:")
    others = [one.partition("@sha256:")[2][:12] for one in known if one.partition("@")[0] == name]
    if others:
        return f"The module {name} has no build with the hash {hash_[:12]}…. It has {', '.join(others)}."
    return f"There is no module {name} in this workspace."


def why_not_granted(name: str, lacking: Collection[str]) -> str:
    return f"The operation declares access to {' and '.join(lacking)}, which is not granted to {name}."
