"""A kind of connection from whose fields manifests, pages, the API and the command line are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from ir.diagnostics import Diagnostic
from ir.manifests.declared import DeclaredConnection, EnvSecret
from ir.manifests.diagnostics import fault
from ir.pointers import Pointer

UNTESTED = "This connector has not been tested against a real server."

Holding = Literal["files", "rows", "streams", "tables"]
FieldType = Literal["text", "lines", "number", "flag", "choice"]


@dataclass(frozen=True, slots=True)
class StoreField:
    """A field of a connection as users enter it. `name` is its name in documents, `attribute` that in Python. A field
    of type `lines` is a text of several lines."""

    name: str
    attribute: str
    title: str
    help: str
    type: FieldType
    is_secret: bool
    is_required: bool
    default: Any
    choices: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class DeclaredStore(DeclaredConnection):
    """A store of files or tables, or a database. Fields of type `EnvSecret` are secrets, which the pages and the API
    accept as text.

    `title` names the kind for users, and `holds` what sources read from it; they read no `tables`, which only targets
    load. Secrets are sent only to an unchanged
    `address`, which lists names of fields. Exactly one of the secrets `one_of` must be given. `caution` is what
    users must know before they trust the kind.
    """

    title: ClassVar[str]
    holds: ClassVar[Holding] = "files"
    address: ClassVar[tuple[str, ...]]
    one_of: ClassVar[tuple[str, ...]] = ()
    caution: ClassVar[str] = ""

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        secrets = {field.name: field.attribute for field in self.fields() if field.is_secret}
        given = [name for name in self.one_of if getattr(self, secrets[name]) is not None]
        if self.one_of and len(given) != 1:
            yield fault("manifest.secret_choice", at, f"Exactly one of {' and '.join(self.one_of)} must be given.")

    @classmethod
    def name(cls) -> str:
        (name,) = get_args(cls.model_fields["kind"].annotation)
        return str(name)

    @classmethod
    def fields(cls) -> tuple[StoreField, ...]:
        """Return all fields but the kind."""
        return tuple(_field(name, info) for name, info in cls.model_fields.items() if name != "kind")

    def public(self) -> dict[str, Any]:
        """Return the public fields by their names in documents, with defaults."""
        found = {field.name: getattr(self, field.attribute) for field in self.fields() if not field.is_secret}
        return {"kind": self.name(), **found}

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        """Return host and port of the server, from public settings."""
        raise NotImplementedError

    @classmethod
    def container_of(cls, settings: Mapping[str, Any]) -> str:
        """Return the displayed name of the part of the server that is read, such as a bucket; empty for all of it."""
        return ""

    @classmethod
    def user_of(cls, settings: Mapping[str, Any]) -> str:
        """Return the user or key that is shown; empty if there is none."""
        return ""

    @classmethod
    def described(cls, settings: Mapping[str, Any]) -> str:
        """Return the location of the store in one line."""
        host, port = cls.server_of(settings)
        return f"{host}:{port}/{cls.container_of(settings)}".rstrip("/")

    @classmethod
    def missing_secret(cls, given: Sequence[str]) -> str:
        """Return the name of a secret that must be given besides `given`; empty if nothing is missing."""
        missing = (field.name for field in cls.fields() if field.is_secret and field.is_required)
        if cls.one_of and not set(cls.one_of) & set(given):
            return cls.one_of[0]
        return next((name for name in missing if name not in given), "")

    @classmethod
    def unusable_secret(cls, name: str, value: str) -> str:
        """Return why the value of a secret cannot be used, without the value; empty if nothing is known."""
        return ""

    @classmethod
    def surplus_secret(cls, given: Sequence[str]) -> str:
        """Return the name of a given secret that another one excludes; empty if there is none."""
        return next((name for name in [name for name in cls.one_of if name in given][1:]), "")


def _field(attribute: str, info: FieldInfo) -> StoreField:
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    kinds = {info.annotation, *get_args(info.annotation)}
    is_choice = get_origin(info.annotation) is Literal
    types: dict[Any, FieldType] = {bool: "flag", int: "number"}
    kind: FieldType = "choice" if is_choice else types.get(info.annotation, "text")
    return StoreField(
        name=str(info.alias),
        attribute=attribute,
        title=str(info.title or attribute.replace("_", " ").capitalize()),
        help=str(info.description or ""),
        type="lines" if extra.get("multiline") else kind,
        is_secret=EnvSecret in kinds,
        is_required=info.is_required(),
        default=None if info.is_required() else info.default,
        choices=get_args(info.annotation) if is_choice else (),
        examples=tuple(map(str, info.examples or ())),
    )
