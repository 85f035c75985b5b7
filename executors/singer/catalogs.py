"""The catalog of a tap: which streams it has, and which one it shall read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from executors.errors import Terminal
from executors.model import SourceField
from executors.singer.schemas import fields_of

_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of a catalog: the columns, those of its key, and the columns by which it can be read incrementally."""

    id: str
    name: str
    fields: tuple[SourceField, ...]
    keys: tuple[str, ...]
    replication_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """What a tap shall read: a stream, its columns (all if there are none), and how to find new rows."""

    stream: str
    fields: tuple[str, ...] = ()
    method: str = ""
    key: str = ""


def read_catalog(text: str, tap: str) -> dict[str, Any]:
    """Return the catalog that a tap has written. Raises Terminal `singer.catalog_malformed`."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    streams = found.get("streams") if isinstance(found, dict) else None
    if isinstance(streams, list) and all(isinstance(one, dict) and _id_of(one) for one in streams):
        return dict(found)
    raise Terminal(
        "singer.catalog_malformed",
        f"The tap {tap} did not write a catalog when it was asked to discover its streams.",
        hint="If it cannot discover, turn useCatalog off. Otherwise check its settings.",
    )


def streams_of(catalog: Mapping[str, Any]) -> tuple[Stream, ...]:
    return tuple(map(_stream, catalog["streams"]))


def select(catalog: Mapping[str, Any], selection: Selection, tap: str) -> tuple[dict[str, Any], Stream]:
    """Return the catalog with one stream selected, and that stream. Raises Terminal `singer.stream_unknown` and
    `singer.field_unknown`."""
    chosen = _find(catalog["streams"], selection.stream, tap)
    stream = _stream(chosen)
    names = [field.name for field in stream.fields]
    if unknown := [name for name in selection.fields if name not in names]:
        raise Terminal(
            "singer.field_unknown",
            f"The stream {stream.id} of the tap {tap} has no field {unknown[0]!r}; it has {', '.join(names)}.",
            hint="Correct the source's fields.",
        )
    marked = [_marked(one, selection if one is chosen else None) for one in catalog["streams"]]
    return {**catalog, "streams": marked}, stream


def _find(streams: Sequence[Mapping[str, Any]], wanted: str, tap: str) -> Mapping[str, Any]:
    for name_of in (_id_of, _name_of):
        found = [one for one in streams if name_of(one) == wanted]
        if len(found) == 1:
            return found[0]
    names = [_id_of(one) for one in streams]
    known = ", ".join(names[:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else "")
    raise Terminal(
        "singer.stream_unknown",
        f"The tap {tap} has no stream {wanted!r}; it has {known or 'none'}.",
        hint="Choose one of its streams.",
    )


def _marked(stream: Mapping[str, Any], selection: Selection | None) -> dict[str, Any]:
    """Return a stream of the catalog with its selection in both forms: metadata, and attributes of the schema for
    earlier taps."""
    is_chosen = selection is not None
    schema = {**_object(stream.get("schema")), "selected": is_chosen}
    properties = _object(schema.get("properties"))
    marked = {**stream, "selected": is_chosen, "schema": schema}
    metadata = {tuple(one["breadcrumb"]): _object(one.get("metadata")) for one in _metadata(stream)}
    metadata.setdefault((), {})["selected"] = is_chosen
    for name in properties:
        metadata.setdefault(("properties", name), {})
    for breadcrumb, found in metadata.items():
        if len(breadcrumb) > 1:
            wanted = is_chosen and _wants(selection, breadcrumb[1], found)
            found["selected"] = wanted
    if selection is not None and selection.method:
        metadata[()]["replication-method"] = marked["replication_method"] = selection.method
    if selection is not None and selection.key:
        metadata[()]["replication-key"] = marked["replication_key"] = selection.key
    marked["metadata"] = [{"breadcrumb": list(key), "metadata": found} for key, found in metadata.items()]
    return marked


def _wants(selection: Selection | None, name: str, metadata: Mapping[str, Any]) -> bool:
    inclusion = metadata.get("inclusion")
    if inclusion == "unsupported" or selection is None:
        return False
    return inclusion == "automatic" or not selection.fields or name in selection.fields or name == selection.key


def _metadata(stream: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    found = stream.get("metadata")
    for one in found if isinstance(found, list) else ():
        if isinstance(one, dict) and _is_breadcrumb(one.get("breadcrumb")):
            yield one


def _is_breadcrumb(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(name, str) for name in found)


def _object(found: Any) -> dict[str, Any]:
    return dict(found) if isinstance(found, dict) else {}


def _stream(described: Mapping[str, Any]) -> Stream:
    own = next((_object(one.get("metadata")) for one in _metadata(described) if not one["breadcrumb"]), {})
    unsupported = {
        one["breadcrumb"][1]
        for one in _metadata(described)
        if len(one["breadcrumb"]) == 2 and _object(one.get("metadata")).get("inclusion") == "unsupported"
    }
    fields = fields_of(_object(described.get("schema")))
    keys = described.get("key_properties") or own.get("table-key-properties") or own.get("view-key-properties")
    return Stream(
        id=_id_of(described),
        name=_name_of(described),
        fields=tuple(field for field in fields if field.name not in unsupported),
        keys=_names(keys),
        replication_keys=_names(own.get("valid-replication-keys") or described.get("replication_key")),
    )


def _names(found: Any) -> tuple[str, ...]:
    listed = found if isinstance(found, list) else [found]
    return tuple(name for name in listed if isinstance(name, str) and name)


def _id_of(stream: Mapping[str, Any]) -> str:
    return str(stream.get("tap_stream_id") or stream.get("stream") or "")


def _name_of(stream: Mapping[str, Any]) -> str:
    return str(stream.get("stream_alias") or stream.get("stream") or stream.get("tap_stream_id") or "")
