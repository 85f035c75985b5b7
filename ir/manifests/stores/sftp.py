"""A connection to an SFTP server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import DeclaredStore

HostKey = Annotated[
    str,
    StringConstraints(
        pattern=r"^((ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|ssh-rsa) [A-Za-z0-9+/]{40,4000}={0,2})?$",
    ),
    NoNewline(),
]
"""A public key as in a file known_hosts, without the name of the host; empty until a person has confirmed it."""


class DeclaredSftp(DeclaredStore):
    """An SFTP server, and the user to sign in as."""

    title = "SFTP server"
    secret_fields = ("password", "privateKey", "passphrase")
    address = ("kind", "host", "port", "user", "hostKey")

    kind: Literal["sftp"]
    host: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{1,253}$"), NoNewline()] = Field(
        title="Host", description="The name or address of the server.", examples=["sftp.example.com"]
    )
    port: Annotated[int, Field(ge=1, le=65535)] = Field(22, title="Port", description="The port of the server.")
    user: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,63}$"), NoNewline()] = Field(
        title="User", description="The user to sign in as.", examples=["flow"]
    )
    folder: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f\\]{0,500}$"), NoNewline()] = Field(
        "",
        title="Folder",
        description="Sources read files below this folder only. Empty means the folder in which the user starts.",
        examples=["/upload"],
    )
    host_key: HostKey = Field(
        "",
        title="Host key",
        description="The public key of the server, such as ssh-ed25519 AAAA…, as ssh-keyscan shows it. If you leave it "
        "empty, test the connection and confirm the key that the server shows. No run connects before.",
        examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI…"],
    )
    password: EnvSecret | None = Field(None, title="Password", description="The password, if the user has one.")
    private_key: EnvSecret | None = Field(
        None,
        title="Private key",
        description="A private key in the format of OpenSSH or PEM, instead of the password or besides it.",
        json_schema_extra={"multiline": True},
    )
    passphrase: EnvSecret | None = Field(
        None, title="Passphrase", description="The passphrase of the private key, if it has one."
    )

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        return str(settings["host"]), int(settings["port"])

    @classmethod
    def user_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["user"])

    @classmethod
    def missing_secret(cls, given: Sequence[str]) -> str:
        return "" if {"password", "privateKey"} & set(given) else "password"
