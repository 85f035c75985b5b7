"""Record the changes of columns that runs find, and the decisions about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from executors.api import LoadCommit, LoadKind, SchemaChange, SchemaRefused
from flowapp.accounts.models import User
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.clock import Now
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import SOURCE_LOADS, Run
from flowapp.schema_changes.models import OPEN, ChangeState, ColumnChange
from flowapp.schema_changes.selectors import tables_of
from ir.errors import FlowError
from ir.words import counted

LONGEST_REASON = 2000


# --- what runs find -------------------------------------------------------------------------------------------


def note_refused(run: Run, error: FlowError) -> None:
    """Record the changes for which a load was refused. Earlier decisions about the same changes stay; changes that the
    source no longer has are withdrawn."""
    if not isinstance(error, SchemaRefused) or run.kind not in SOURCE_LOADS:
        return
    node = error.node or ""
    _withdraw_of_other_tables(run, node)
    known = {change.change_id: change for change in _open(run.pipeline_id, node)}
    found = [change for change in error.changes if change.id in error.open or change.why_not]
    new = [
        _row(run, node, change, ChangeState.PENDING if change.id in error.open else ChangeState.REFUSED)
        for change in found
        if change.id not in known
    ]
    ColumnChange.objects.bulk_create(new)
    again = [known[change.id].pk for change in found if change.id in known]
    ColumnChange.objects.filter(pk__in=again).update(seen_at=Now(), run=run)
    _withdraw(_open(run.pipeline_id, node), {change.id for change in error.changes})
    if undecided := list(_open(run.pipeline_id, node).filter(state=ChangeState.PENDING)):
        raise_alert(
            "schema.pending",
            "warning",
            f"{counted(len(undecided), 'change')} of the columns of {_table(undecided[0])} "
            f"{'waits' if len(undecided) == 1 else 'wait'} for a decision: {undecided[0].sentence}",
            "Accept or reject the changes on the page Schema changes, then run the pipeline again.",
            pipeline=run.pipeline,
            run=run,
            node=node,
        )


def note_followed(run: Run, commit: LoadCommit) -> None:
    """Record the changes that a load has followed. Those that are still open are not needed any more."""
    if commit.kind is not LoadKind.LOAD:
        return
    _withdraw_of_other_tables(run, commit.node)
    followed = {change.id: change for change in commit.record.schema_changes}
    known = set(_open(run.pipeline_id, commit.node).values_list("change_id", flat=True))
    done = set(
        ColumnChange.objects.filter(
            pipeline=run.pipeline_id, node=commit.node, state=ChangeState.APPLIED, run=run
        ).values_list("change_id", flat=True)
    )
    _open(run.pipeline_id, commit.node).filter(change_id__in=followed).update(
        state=ChangeState.APPLIED, seen_at=Now(), run=run
    )
    ColumnChange.objects.bulk_create(
        _row(run, commit.node, change, ChangeState.APPLIED)
        for change in followed.values()
        if change.id not in known | done
    )
    _withdraw(_open(run.pipeline_id, commit.node), followed)
    _resolve(run.pipeline_id, commit.node)


def _open(pipeline_id: UUID, node: str) -> QuerySet[ColumnChange]:
    return ColumnChange.objects.filter(pipeline=pipeline_id, node=node, state__in=OPEN)


def _withdraw_of_other_tables(run: Run, node: str) -> None:
    """Withdraw the changes of the table that the target had before: a decision about one table covers no other one."""
    if (table := tables_of(run).get(node)) is not None:
        connection, schema, name = table
        _withdraw(_open(run.pipeline_id, node).exclude(connection=connection, schema=schema, table=name), ())


def _withdraw(changes: QuerySet[ColumnChange], still_there: Collection[str]) -> None:
    changes.exclude(change_id__in=still_there).update(state=ChangeState.WITHDRAWN, seen_at=Now())


def _row(run: Run, node: str, change: SchemaChange, state: ChangeState) -> ColumnChange:
    document = read_document(run.document)
    target = next(target for target in document.targets() if target.id == node)
    return ColumnChange(
        workspace_id=run.workspace_id,
        pipeline_id=run.pipeline_id,
        node=node,
        sources=", ".join(source.id for source in document.sources_of(target))[:2000],
        connection=target.connection,
        schema=target.schema_,
        table=target.table,
        change_id=change.id,
        kind=change.kind,
        column=change.column,
        sentence=change.sentence,
        statement=change.statement,
        rewrites=change.rewrites,
        table_bytes=change.table_bytes,
        why_not=change.why_not,
        state=state,
        run=run,
        first_seen_at=Now(),
        seen_at=Now(),
    )


def _table(change: ColumnChange) -> str:
    return f"{change.schema}.{change.table}"


# --- decisions ------------------------------------------------------------------------------------------------


def accept_changes(changes: Iterable[ColumnChange], by: str, *, user: User | None = None, reason: str = "") -> int:
    """Let the next load follow the changes; return their number. Raises FlowError `schema.change_decided` if one of
    them is no longer open; then none is accepted."""
    return _decide(list(changes), ChangeState.ACCEPTED, by, user, reason)


def reject_changes(changes: Iterable[ColumnChange], by: str, *, user: User | None = None, reason: str = "") -> int:
    """Keep refusing loads with the changes; return their number. Raises FlowError `reason.required`, and
    `schema.change_decided` if one of them is no longer open; then none is rejected."""
    if not reason.strip():
        raise FlowError("reason.required", "Rejecting a change needs a reason.", hint="Give a reason. It is stored.")
    return _decide(list(changes), ChangeState.REJECTED, by, user, reason)


def open_changes(pipeline: Pipeline, chosen: Collection[str] = ()) -> list[ColumnChange]:
    """Return the changes of a pipeline that a person can accept: all, or those whose IDs begin with `chosen`, each of
    which must match one change. Raises FlowError `schema.change_unknown`."""
    found = [change for change in ColumnChange.objects.filter(pipeline=pipeline) if change.can_be_accepted]
    if not chosen:
        return found
    wanted: dict[UUID, ColumnChange] = {}
    for given in chosen:
        begun = [change for change in found if str(change.pk).startswith(given)]
        if len(begun) != 1:
            what = f"{len(begun)} undecided changes whose IDs begin with" if begun else "no undecided change"
            raise FlowError(
                "schema.change_unknown",
                f"{pipeline.slug} has {what} {given!r}.",
                hint="`flow schema log` shows the changes with their IDs. Write as much of an ID as is unique.",
            )
        wanted[begun[0].pk] = begun[0]
    return list(wanted.values())


def _decide(changes: Sequence[ColumnChange], state: ChangeState, by: str, user: User | None, reason: str) -> int:
    before = [ChangeState.PENDING, ChangeState.REJECTED, ChangeState.ACCEPTED]
    before.remove(state)
    with transaction.atomic():
        decided = ColumnChange.objects.filter(pk__in=[change.pk for change in changes], state__in=before).update(
            state=state,
            decided_by=user,
            decided_as=by[:300],
            decided_at=Now(),
            reason=reason.strip()[:LONGEST_REASON],
        )
        if decided < len(changes):
            raise FlowError(
                "schema.change_decided",
                f"{counted(len(changes) - decided, 'change')} cannot be {state}: a load has followed it, the source no "
                "longer has it, or it is decided this way already.",
                hint="Open the page Schema changes to see its state.",
            )
        for pipeline_id, node in {(change.pipeline_id, change.node) for change in changes}:
            _resolve(pipeline_id, node)
    return decided


def _resolve(pipeline_id: UUID, node: str) -> None:
    if not _open(pipeline_id, node).filter(state=ChangeState.PENDING).exists():
        resolve_by("schema.decided", pipeline_id=pipeline_id, node=node)
