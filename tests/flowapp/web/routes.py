"""All routes of the web process, from its resolver, so that new ones are tested too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.urls.converters import get_converters

from tests.flowapp.web.samples import BY_CONVERTER, BY_NAME


class Route(NamedTuple):
    """`name` has its namespaces; `arguments` are the names in `pattern` with their converters' names."""

    name: str
    pattern: str
    arguments: dict[str, str]
    view: Any

    @property
    def is_api(self) -> bool:
        return self.name.startswith("api:")

    def url(self, workspace: str) -> str:
        given = {name: self._sample(name, converter) for name, converter in self.arguments.items()}
        if "workspace" in given:
            given["workspace"] = workspace
        return reverse(self.name, kwargs=given)

    def url_of(self, things: dict[str, object]) -> str:
        """The address of these things, by the names of arguments."""
        return reverse(self.name, kwargs={name: things[name] for name in self.arguments})

    @staticmethod
    def _sample(name: str, converter: str) -> object:
        return BY_NAME[name] if name in BY_NAME else BY_CONVERTER[converter]


def all_routes() -> list[Route]:
    return list(_walk(get_resolver(), "", "/", {}))


def _walk(resolver: URLResolver, namespace: str, before: str, arguments: dict[str, str]) -> Iterator[Route]:
    for entry in resolver.url_patterns:
        here, pattern = {**arguments, **_arguments(entry)}, before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            inner = f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            yield from _walk(entry, inner, pattern, here)
        else:
            assert isinstance(entry, URLPattern)
            assert entry.name, f"{entry.pattern} has no name"
            yield Route(namespace + entry.name, pattern, here, entry.callback)


def _arguments(entry: URLPattern | URLResolver) -> dict[str, str]:
    """Return the arguments in the pattern. Django adds those of outer patterns to `converters`, which all empty
    patterns share."""
    kinds = {type(converter): name for name, converter in get_converters().items()}
    found = getattr(entry.pattern, "converters", {})
    named = re.findall(r"<(?:\w+:)?(\w+)>", str(entry.pattern))
    return {name: kinds[type(found[name])] if name in found else "str" for name in named}
