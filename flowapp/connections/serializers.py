"""Connections in API requests and responses."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer, ErrorSerializer, WholeListSerializer, WireSerializer
from flowapp.connections.allowing import LONGEST_NAME
from flowapp.connections.fields import DEFAULT_PORT, SSL_MODES
from flowapp.connections.kind_names import CONNECTION_KINDS
from flowapp.connections.models import Connection
from flowapp.connections.services import POSTGRES
from flowapp.connections.webhook_fields import WEBHOOK
from ir.manifests.stores import STORE_KINDS


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]})
class SettingField(serializers.JSONField):
    """The value of a field of a store."""


class ConnectionTestSerializer(WireSerializer[Any]):
    """The result of a connection test. The facts about a server depend on the kind of connection."""

    at = serializers.DateTimeField()
    ok = serializers.BooleanField()
    tried = serializers.CharField(help_text="The attempted action.")
    server_version = serializers.CharField(required=False)
    encrypted = serializers.BooleanField(required=False)
    can_create_schema = serializers.BooleanField(required=False)
    is_superuser = serializers.BooleanField(required=False)
    server_rights = serializers.ListField(child=serializers.CharField(), required=False)
    status = serializers.IntegerField(required=False, help_text="The HTTP status of a webhook's receiver.")
    can_list = serializers.BooleanField(required=False, help_text="Of a store: whether its root can be listed.")
    can_read = serializers.BooleanField(
        required=False, allow_null=True, help_text="Of a store: null if it has no file to read."
    )
    can_move = serializers.BooleanField(
        required=False, help_text="Of a store: whether files can be created exclusively and deleted."
    )
    folder_exists = serializers.BooleanField(required=False, help_text="Of a folder for tables.")
    can_write = serializers.BooleanField(
        required=False, help_text="Of a folder for tables: whether tables can be created there."
    )
    host_key = serializers.CharField(required=False, help_text="The public key that an SFTP server has shown.")
    host_key_fingerprint = serializers.CharField(required=False, help_text="Its SHA-256 fingerprint.")
    host_key_confirmed = serializers.BooleanField(required=False, help_text="Whether runs connect to this key.")
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="Rights that the role or key lacks or should not have."
    )
    error = ErrorSerializer(allow_null=True)


class ConnectionSerializer(CamelSerializer[Connection]):
    """A connection without its secrets."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(CONNECTION_KINDS)
    host = serializers.CharField()
    port = serializers.IntegerField()
    database = serializers.CharField(help_text="The bucket, container or folder of a store. Empty for a webhook.")
    user = serializers.CharField(help_text="Empty for a webhook.")
    sslmode = serializers.CharField()
    has_password = serializers.SerializerMethodField()
    allowed_functions = serializers.ListField(
        child=serializers.CharField(), source="settings.allowedFunctions", required=False
    )
    allows_server_rights = serializers.BooleanField(source="settings.allowsServerRights", required=False)
    headers = serializers.ListField(
        child=serializers.CharField(), source="settings.headers", required=False, help_text="Names; of a webhook."
    )
    settings = serializers.DictField(
        child=SettingField(),
        source="settings.fields",
        required=False,
        help_text="The fields of a store of files, without its secrets.",
    )
    signed = serializers.BooleanField(
        source="settings.signed", required=False, help_text="Whether requests are signed; of a webhook."
    )
    last_test = ConnectionTestSerializer(allow_null=True)

    def get_has_password(self, connection: Connection) -> bool:
        return bool(connection.secret)


class AddedConnectionSerializer(ConnectionSerializer):
    warnings = serializers.SerializerMethodField(help_text="How to correct the request.")

    def get_warnings(self, connection: Connection) -> list[str]:
        warnings: list[str] = self.context["warnings"]
        return warnings


class ConnectionListSerializer(WholeListSerializer):
    results = ConnectionSerializer(many=True)


class ConnectionRequest(CamelSerializer[Any]):
    """For a database, `url`, or `host`, `database` and `user`; send the password as `password`, not in the URL. For a
    webhook, its `url`, `headers` and signing `secret`. For a store of files, its fields as `settings` and `secrets`."""

    name = serializers.CharField(max_length=63)
    kind = serializers.ChoiceField(CONNECTION_KINDS, default=POSTGRES)
    url = serializers.CharField(required=False, write_only=True, max_length=2000)
    host = serializers.CharField(required=False, max_length=253)
    port = serializers.IntegerField(default=DEFAULT_PORT, min_value=1, max_value=65535)
    database = serializers.CharField(required=False, max_length=63)
    user = serializers.CharField(required=False, max_length=63)
    sslmode = serializers.ChoiceField(SSL_MODES, default="prefer")
    password = serializers.CharField(default="", write_only=True, trim_whitespace=False, allow_blank=True)
    headers = serializers.DictField(child=serializers.CharField(), default=dict, write_only=True)
    secret = serializers.CharField(default="", write_only=True, trim_whitespace=False, allow_blank=True)
    settings = serializers.DictField(child=SettingField(), required=False, write_only=True)
    secrets = serializers.DictField(
        child=serializers.CharField(trim_whitespace=False, allow_blank=True), required=False, write_only=True
    )

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["kind"] in STORE_KINDS:
            if "settings" not in given:
                raise serializers.ValidationError({"settings": "A store of files needs settings."})
            return given
        if given["kind"] == WEBHOOK and "url" not in given:
            raise serializers.ValidationError({"url": "A webhook needs a url."})
        missing = [name for name in ("host", "database", "user") if name not in given]
        if "url" not in given and missing:
            raise serializers.ValidationError(dict.fromkeys(missing, "Give this value or a url."))
        return given


class HostKeyRequest(CamelSerializer[Any]):
    """The host key of an SFTP server that a person has compared with that of the server."""

    fingerprint = serializers.CharField(max_length=100, help_text="As the last test shows it: `SHA256:…`.")


class AllowanceRequest(CamelSerializer[Any]):
    """What user-written queries may use over the connection: functions of extensions or users, as `schema.function`,
    and a role that is a superuser, may run programs, or may read or write files of the server. Absent fields stay
    unchanged."""

    allowed_functions = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_NAME), required=False, source="functions"
    )
    allows_server_rights = serializers.BooleanField(required=False, source="server_rights")
