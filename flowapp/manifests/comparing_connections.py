"""Compare the connections of a project with the workspace. Secrets come from the environment and are never shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.views.decorators.debug import sensitive_variables

from flowapp.connections.models import Connection
from flowapp.connections.services import KINDS, AnyFields
from flowapp.connections.usage import pipelines_using
from flowapp.manifests.connection_kinds import declared_fields, kind_of, stored_fields
from flowapp.manifests.models import AppliedConnection
from flowapp.manifests.states import WorkspaceState
from ir.errors import FlowError
from ir.manifests.connections import DeclaredConnection, secrets_of
from ir.manifests.plan import ConnectionChange, Drift, Need, Problem
from ir.manifests.project import Project, ProjectConnection
from ir.manifests.stores import STORE_KINDS

Environment = Mapping[str, str]


@sensitive_variables("environment")
def entered_fields(spec: DeclaredConnection, environment: Environment, stored: Connection | None) -> AnyFields:
    """Return a declared connection with its secrets. If the environment has no password, the stored one is used."""
    secrets = {at: environment.get(name, "") for at, name in secrets_of(spec).items()}
    return kind_of(spec).enter(spec, secrets, stored)


def compare_connections(
    project: Project, state: WorkspaceState, environment: Environment
) -> Iterator[ConnectionChange]:
    """Yield the connections that applying would change or record, then those that it would remove."""
    for declared in project.connections.values():
        yield from _declared(declared, state, environment)
    for name, record in sorted(state.applied_connections.items()):
        if name not in project.connections and name in state.connections:
            yield _removed(record, state, project)


def _declared(
    declared: ProjectConnection, state: WorkspaceState, environment: Environment
) -> Iterator[ConnectionChange]:
    stored, record = state.connections.get(declared.name), state.applied_connections.get(declared.name)
    sharers = state.sharers.get(declared.name, ())
    after = declared_fields(declared.spec)
    before = stored_fields(stored) if stored is not None else None
    words = _words(before, after) if before is not None else [f"New connection to {_address(after)}."]
    is_secret_changed = (
        stored is not None and before == after and _is_secret_changed(declared.spec, stored, environment)
    )
    if is_secret_changed:
        words.append("A secret changes.")
    drift = _drift(before, after, record, sharers) or (
        _secret_drift(stored, record, sharers) if is_secret_changed else None
    )
    if before == after and not is_secret_changed and drift is None and record is not None and record.fields == after:
        return
    is_adopted = before == after and not is_secret_changed and drift is None
    needs: list[Need] = [] if is_adopted else ["admin"]
    yield ConnectionChange.of(
        name=declared.name,
        action="adopted" if is_adopted else _action(before, after, record, drift),
        line=declared.line,
        words=words,
        drift=drift,
        problems=[]
        if is_adopted
        else [*_unusable(declared.spec), *_missing(declared.spec, before, after, environment)],
        destructive=[],
        needs=[*_force(drift), *needs],
    )


def _force(drift: Drift | None) -> list[Need]:
    return ["force"] if drift is not None else []


def _action(before: object, after: object, record: AppliedConnection | None, drift: Drift | None) -> Any:
    if drift is not None:
        return "drifted" if record is None or record.fields == after else "changed"
    return "new" if before is None else "changed"


def _drift(
    before: dict[str, Any] | None, after: dict[str, Any], record: AppliedConnection | None, sharers: Sequence[str]
) -> Drift | None:
    if record is None:
        if before is None or before == after:
            return None
        if sharers:
            return _of_another(sharers)
        return Drift(kind="unmanaged", words=["The connection was made in the browser."], patch=[])
    if before is None:
        return Drift(kind="deleted", words=["The connection was removed."], patch=[])
    if before in (record.fields, after):
        return None
    return Drift(kind="edited", words=_words(record.fields, before), patch=[])


def _of_another(sharers: Sequence[str]) -> Drift:
    words = [f"Project {name} has applied this connection with other values." for name in sharers]
    return Drift(kind="other_project", words=words, patch=[])


def _secret_drift(stored: Connection | None, record: AppliedConnection | None, sharers: Sequence[str]) -> Drift | None:
    """Return drift if the connection was changed since its secret was applied. Otherwise the environment has a new
    secret."""
    if record is None and sharers:
        return _of_another(sharers)
    if stored is None or record is None or stored.changed_at == record.connection_changed_at:
        return None
    return Drift(kind="edited", words=["The connection was changed, and its secret differs."], patch=[])


def _words(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return [
        f"{name} changes from {before.get(name)} to {after.get(name)}."
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _address(fields: Mapping[str, Any]) -> str:
    if fields["kind"] in STORE_KINDS:
        return STORE_KINDS[fields["kind"]].described(fields)
    return f"{fields['host']}:{fields['port']}/{fields['database']}" if "host" in fields else "a webhook"


@sensitive_variables()
def _is_secret_changed(spec: DeclaredConnection, stored: Connection, environment: Environment) -> bool:
    """Return whether the environment has another secret than the connection. Secrets that it does not have are not
    compared."""
    if any(not environment.get(name) for name in secrets_of(spec).values()):
        return False
    try:
        known = KINDS[stored.kind].resolve(stored)
    except FlowError:
        return True
    return kind_of(spec).has_other_secret(entered_fields(spec, environment, None), known)


def _unusable(spec: DeclaredConnection) -> Iterator[Problem]:
    """Yield the problems for which storing the connection would be refused."""
    try:
        kind_of(spec).require_usable(spec)
    except FlowError as error:
        yield Problem(code=error.code, severity="error", message=error.message, hint=error.hint, path="/host")


def _missing(
    spec: DeclaredConnection, before: Mapping[str, Any] | None, after: Mapping[str, Any], environment: Environment
) -> Iterator[Problem]:
    """Yield missing secrets. A stored password is never sent to another address, so a new address requires the
    password."""
    address = kind_of(spec).address
    if address and before is not None and all(before.get(name) == after.get(name) for name in address):
        return
    for at, name in secrets_of(spec).items():
        if not environment.get(name):
            yield Problem(
                code="connection.secret_missing",
                severity="error",
                message=f"The variable {name} is not set here.",
                hint="Set it where you plan and apply. In the browser, FLOW_PROJECT_ENV must list it.",
                path=at,
            )


def _removed(record: AppliedConnection, state: WorkspaceState, project: Project) -> ConnectionChange:
    if sharers := state.sharers.get(record.name):
        words = [f"Project {', '.join(sharers)} declares the connection too, so that it stays."]
        return ConnectionChange.of(
            name=record.name, action="removed", words=words, problems=[], destructive=[], needs=[]
        )
    gone = {slug for slug, current in state.pipelines.items() if current.is_archived}
    gone |= {slug for slug, known in state.applied_pipelines.items() if known.removed_at is None}
    drift = _drift(stored_fields(state.connections[record.name]), record.fields, record, ())
    users = [slug for slug in pipelines_using(state.workspace, record.name) if slug not in {*gone, *project.pipelines}]
    problems = [
        Problem(
            code="connection.in_use",
            severity="error",
            message=f"The connection {record.name} is used by {', '.join(users)}.",
            hint="Change these pipelines first, or declare the connection again.",
            path="",
        )
    ]
    return ConnectionChange.of(
        name=record.name,
        action="removed",
        words=["The connection is removed with its secret."],
        drift=drift,
        problems=problems if users else [],
        destructive=["Its password cannot be restored."],
        needs=[*_force(drift), "yes", "admin"],
    )
