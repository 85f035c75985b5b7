"""`flow connection`: stored connections. Commands accept secrets and never print them."""

from __future__ import annotations

import os
import re
from argparse import BooleanOptionalAction, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import FAILED, show_error
from flowapp.cli.outcome import Outcome, listed, minute, show_lines, stderr, text_outcome
from flowapp.cli.parser import add_command, add_group
from flowapp.cli.secret_input import read_secret

if TYPE_CHECKING:
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.store_fields import StoreFields
    from flowapp.connections.webhook_fields import WebhookFields
    from ir.manifests.stores.base import StoreField

COLUMNS = {
    "name": "NAME",
    "kind": "KIND",
    "address": "ADDRESS",
    "user": "USER",
    "sslmode": "SSLMODE",
    "tested": "LAST TEST",
}


def add_parser(commands: Any) -> None:
    group = add_group(commands, "connection", "stored connections")
    add = add_command(group, "add", add_connection, "add a connection; its password is stored encrypted")
    add.add_argument("name", metavar="NAME")
    address = add.add_mutually_exclusive_group(required=True)
    address.add_argument(
        "--url", help="postgresql://USER@HOST:PORT/DATABASE[?sslmode=MODE], or the https:// address of a webhook"
    )
    address.add_argument(
        "--kind",
        metavar="KIND",
        help="another kind of connection than PostgreSQL, with --set for its fields",
    )
    add.add_argument(
        "--set",
        metavar="FIELD=VALUE",
        action="append",
        default=[],
        help="a field of a store, such as bucket=landing; may be repeated. Secrets are read from standard input or the "
        "environment",
    )
    add.add_argument(
        "--password-stdin",
        action="store_true",
        help="read the password, a webhook's signing secret or a store's secret from standard input; you can also set "
        "FLOW_CONNECTION_PASSWORD",
    )
    add.add_argument(
        "--secret",
        metavar="FIELD",
        help="the field that the secret of a store is for, if its kind has several, such as privateKey",
    )
    add_command(group, "list", list_connections, "list the connections")
    allowing = add_command(group, "allow", allow, "set what queries over a connection may use")
    allowing.add_argument("name", metavar="NAME")
    allowing.add_argument(
        "--function",
        metavar="SCHEMA.FUNCTION",
        action="append",
        default=[],
        help="allow an additional function; may be repeated",
    )
    allowing.add_argument(
        "--no-function", metavar="SCHEMA.FUNCTION", action="append", default=[], help="stop allowing it"
    )
    allowing.add_argument(
        "--server-rights",
        action=BooleanOptionalAction,
        help="whether queries run as a role that is a superuser, or may run programs or read or write files of the "
        "database server",
    )
    confirming = add_command(group, "confirm", confirm, "trust the host key that the last test showed")
    confirming.add_argument("name", metavar="NAME")
    confirming.add_argument("fingerprint", metavar="SHA256:…", help="the fingerprint, which you have compared")
    for name, handler, summary in (
        ("test", test_connection, "test a connection and show what its role may do"),
        ("remove", remove_connection, "remove a connection and its password"),
    ):
        add_command(group, name, handler, summary).add_argument("name", metavar="NAME")


def add_connection(args: Namespace) -> Outcome:
    from flowapp.connections import services
    from flowapp.connections.fields import parse_connection_url
    from flowapp.connections.serializers import ConnectionSerializer
    from flowapp.connections.webhook_fields import WebhookFields

    fields: ConnectionFields | WebhookFields | StoreFields
    if args.kind:
        fields = _store_fields(args)
    elif args.url.startswith("https:"):
        fields = WebhookFields(args.url, {}, _given_password(from_stdin=args.password_stdin) or "")
    else:
        fields = _with_password(parse_connection_url(args.url), from_stdin=args.password_stdin)
    connection = services.add_connection(current_workspace(), args.name, fields)
    return text_outcome(
        ConnectionSerializer(connection).data,
        f"Connection {connection.name} saved. Test it: flow connection test {connection.name}",
    )


def _store_fields(args: Namespace) -> StoreFields:
    """Return the fields of `--set` and the secret. Raises InvalidConnection for an unknown field."""
    from flowapp.connections.store_fields import InvalidFields, StoreFields
    from ir.manifests.stores import STORE_KINDS

    if args.kind not in STORE_KINDS:
        raise InvalidFields("kind", f"{args.kind!r} is not a kind of connection. Known: {', '.join(STORE_KINDS)}.")
    known = {field.name: field for field in STORE_KINDS[args.kind].fields()}
    settings: dict[str, Any] = {}
    for given in args.set:
        name, _, value = given.partition("=")
        if name not in known or known[name].is_secret:
            names = ", ".join(field.name for field in known.values() if not field.is_secret)
            raise InvalidFields(name, f"{name!r} is not a field of the kind {args.kind}. Known: {names}.")
        settings[name] = _value_of(known[name], value)
    secrets = {name: value for name in known if known[name].is_secret and (value := os.environ.get(_variable(name)))}
    main = args.secret or next((field.name for field in known.values() if field.is_secret), "password")
    has_lines = main in known and known[main].type == "lines"
    if password := _given_password(from_stdin=args.password_stdin, has_lines=has_lines):
        secrets[main] = password
    return StoreFields(args.kind, settings, secrets)


def _variable(field: str) -> str:
    """Return the environment variable of a secret that is given besides the main one."""
    return f"FLOW_CONNECTION_{re.sub('(?=[A-Z])', '_', field).upper()}" if field != "password" else ""


def _value_of(field: StoreField, text: str) -> object:
    if field.type == "flag" and text in ("true", "false"):
        return text == "true"
    return int(text) if field.type == "number" and text.isdecimal() else text


def _with_password(fields: ConnectionFields, *, from_stdin: bool) -> ConnectionFields:
    """Set the password: standard input has priority over the environment, and the environment over the URL."""
    if fields.password:
        stderr().print(
            "warning: a password in the URL can be read in the shell's history and in the list of processes; "
            "use --password-stdin or FLOW_CONNECTION_PASSWORD.",
            style="yellow",
            markup=False,
        )
    given = _given_password(from_stdin=from_stdin)
    return replace(fields, password=given) if given else fields


def _given_password(*, from_stdin: bool, has_lines: bool = False) -> str | None:
    if from_stdin:
        return read_secret("--password-stdin", has_lines=has_lines)
    return os.environ.get("FLOW_CONNECTION_PASSWORD")


def list_connections(args: Namespace) -> Outcome:
    from flowapp.connections import selectors
    from flowapp.connections.serializers import ConnectionSerializer

    found = [ConnectionSerializer(c).data for c in selectors.list_connections(current_workspace())]
    table = [{**c, "address": _address(c), "tested": _tested(c["lastTest"])} for c in found]
    shown = listed("connections", table, COLUMNS, "No connections yet. Add one: flow connection add NAME --url URL")
    return Outcome({"connections": found}, shown.show)


def _address(c: dict[str, Any]) -> str:
    server = f"{c['host']}:{c['port']}" if c["port"] else c["host"]
    return "/".join(part for part in (server, c["database"]) if part)


def _tested(last: dict[str, Any] | None) -> str:
    if last is None:
        return "never"
    return f"{'ok' if last['ok'] else last['error']['code']} {minute(last['at'])}"


def allow(args: Namespace) -> Outcome:
    from flowapp.connections import allowing
    from flowapp.connections.selectors import get_connection
    from flowapp.connections.serializers import ConnectionSerializer

    workspace = current_workspace()
    known = get_connection(workspace, args.name).settings.get("allowedFunctions", [])
    functions = [name for name in (*known, *args.function) if name not in args.no_function]
    connection = allowing.allow(workspace, args.name, functions=functions, server_rights=args.server_rights)
    document = ConnectionSerializer(connection).data
    names = ", ".join(document["allowedFunctions"]) or "only built-in functions"
    role = "may" if document["allowsServerRights"] else "may not"
    return text_outcome(
        document,
        f"Queries over {connection.name} call: {names}.",
        f"They {role} run as a privileged role.",
    )


def confirm(args: Namespace) -> Outcome:
    from flowapp.connections.host_keys import confirm_host_key
    from flowapp.connections.serializers import ConnectionSerializer

    connection = confirm_host_key(current_workspace(), args.name, args.fingerprint)
    return text_outcome(
        ConnectionSerializer(connection).data,
        f"The host key of {connection.name} is confirmed. Test it: flow connection test {connection.name}",
    )


def test_connection(args: Namespace) -> Outcome:
    from flowapp.connections import services

    connection = services.probe_connection(current_workspace(), args.name)
    result = {"name": connection.name, **(connection.last_test or {})}
    return Outcome(result, lambda console: _show_test(console, result), 0 if result["ok"] else FAILED)


def _show_test(console: Console, result: dict[str, Any]) -> None:
    show_lines(console, [f"Tried {result['tried']}.", *_host_key(result)])
    if result["error"]:
        show_error(console, result["error"])
        return
    if "canList" in result:
        show_lines(console, [*_permissions(result), *(f"Note: {note}" for note in result["notes"])])
        return
    if "folderExists" in result:
        state = "exists" if result["folderExists"] else "can be created"
        show_lines(console, [f"The folder {state}, and Flow can write to it."])
        return
    if "streams" in result:
        show_lines(console, [f"The tap has the streams: {result['streams'] or 'none'}."])
        return
    if "status" in result:
        show_lines(console, [f"The receiver returned {result['status']}."])
        return
    show_lines(console, [*_server(result), *(f"Note: {note}" for note in result["notes"])])


def _host_key(result: dict[str, Any]) -> list[str]:
    if "hostKey" not in result:
        return []
    state = "confirmed" if result["hostKeyConfirmed"] else "not confirmed"
    lines = [f"The host key is {result['hostKeyFingerprint']} ({state}):", result["hostKey"]]
    if not result["hostKeyConfirmed"]:
        lines += [
            "Compare it with the key of the server. If they are equal:",
            f"flow connection confirm {result['name']} {result['hostKeyFingerprint']}",
        ]
    return lines


def _server(result: dict[str, Any]) -> list[str]:
    tls = "with" if result["encrypted"] else "without"
    if "canCreateSchema" not in result:
        return [f"Connected: {result['serverVersion']}, {tls} TLS."]
    return [
        f"Connected: PostgreSQL {result['serverVersion']}, {tls} TLS.",
        f"The role may {'' if result['canCreateSchema'] else 'not '}create schemas.",
    ]


def _permissions(result: dict[str, Any]) -> list[str]:
    words = {True: "yes", False: "no", None: "not tested"}
    allowed = {"list": "canList", "read": "canRead", "create and delete": "canMove"}
    return [f"May {what}: {words[result[key]]}." for what, key in allowed.items()]


def remove_connection(args: Namespace) -> Outcome:
    from flowapp.connections import services

    services.remove_connection(current_workspace(), args.name)
    return text_outcome({"removed": args.name}, f"Connection {args.name} removed with its password.")
