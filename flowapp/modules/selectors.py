"""Queries for stored modules. Only `read_modules` reads their bytes."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from executors.model import ModuleCode
from flowapp.accounts.models import Workspace
from flowapp.modules.models import CustomModule
from ir.errors import FlowError


def list_modules(workspace: Workspace) -> QuerySet[CustomModule]:
    """Return all builds by name, the newest first."""
    return CustomModule.objects.filter(workspace=workspace).defer("content").order_by("name", "-added_at")


def get_module(workspace: Workspace, name: str, sha256: str) -> CustomModule:
    """Return the build whose hash begins with `sha256`. Raises FlowError `custom.module_unknown`."""
    found = list(list_modules(workspace).filter(name=name, sha256__startswith=sha256.lower())[:2])
    if len(found) == 1:
        return found[0]
    what = f"several builds of {name!r} whose hash begins with {sha256!r}" if found else f"no build of {name!r} with it"
    raise FlowError(
        "custom.module_unknown",
        f"There is {what}." if found else f"There is no module {name!r} with the hash {sha256 or '(any)'}.",
        hint="`flow module list` shows the modules with their hashes.",
    )


def read_modules(workspace: Workspace, refs: Collection[str]) -> dict[str, ModuleCode]:
    """Return the code of builds, by how documents name them. Unknown ones are absent."""
    names = {ref.partition("@")[0] for ref in refs}
    found = CustomModule.objects.filter(workspace=workspace, name__in=names).defer("imports", "may_use")
    wanted = [build.pk for build in list_modules(workspace).filter(name__in=names) if build.ref in refs]
    builds = found.filter(pk__in=wanted)
    return {build.ref: ModuleCode(build.name, build.sha256, bytes(build.content)) for build in builds}
