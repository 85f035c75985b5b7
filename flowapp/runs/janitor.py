"""Throwing away what is old, and staging tables that dead attempts left in targets."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Model, Q

from executors import target_database
from executors.target_database import RESULTS_KEPT_DAYS, SAMPLES_KEPT_DAYS
from flowapp.accounts.clients import KNOWN_DAYS
from flowapp.accounts.models import EndedCredentials, KnownNetwork, LoginFailures, LoginLink, Token
from flowapp.backups.selectors import KEPT_DAYS
from flowapp.channels.models import Delivery, DeliveryState
from flowapp.channels.selectors import KEPT_DAYS as DELIVERIES_KEPT_DAYS
from flowapp.clock import from_now
from flowapp.connections.models import Connection
from flowapp.connections.services import POSTGRES, resolve
from flowapp.files.models import LoadUnit, UnitState, Upload
from flowapp.health.alerts import raise_alert
from flowapp.health.models import Alert, AlertState
from flowapp.quarantine.models import RowDecision, RowJob, Selection
from flowapp.runs.holds import is_kept
from flowapp.runs.models import ACTIVE, COUNTED, EffectSample, Run, RunLog, State
from ir.errors import FlowError
from ir.words import counted

logger = logging.getLogger(__name__)
DAY = 24 * 3600.0
AT_ONCE = 5000


@dataclass(frozen=True, slots=True)
class Retention:
    """Rows of a model whose `age` field is older than `days`, and which `only` matches, go. `what` names them."""

    what: str
    model: type[Model]
    age: str
    days: float
    only: Q


RETENTION = (
    Retention("Lines of runs' logs", RunLog, "at", 30, Q()),
    Retention("Alerts, once resolved", Alert, "resolved_at", 90, Q(state=AlertState.RESOLVED)),
    Retention(
        "Messages to channels, as logged", Delivery, "made_at", DELIVERIES_KEPT_DAYS, ~Q(state=DeliveryState.PENDING)
    ),
    Retention("Files that were left out", LoadUnit, "changed_at", 90, Q(state=UnitState.SKIPPED)),
    Retention("Uploads, as noted here", Upload, "at", 365, Q()),
    Retention("Wrong passwords, as counted", LoginFailures, "until", 1, Q()),
    Retention("Networks that people sign in from, as hashes", KnownNetwork, "seen_at", KNOWN_DAYS, Q()),
    Retention("How many credentials of a person were ended", EndedCredentials, "at", 365, Q()),
    Retention("Rejected rows as chosen for work, by their ids", Selection, "made_at", 7, Q()),
    Retention("Who decided what about rejected rows", RowDecision, "at", 730, Q()),
    Retention("Previews and what they counted", Run, "ended_at", 7, ~Q(purpose__in=COUNTED)),
    Retention("Sign-ins, after their end", Session, "expire_date", 1, Q()),
    Retention("Links to sign in once, after their end", LoginLink, "expires_at", 7, Q()),
    Retention("Keys to the API, after their end", Token, "expires_at", 90, Q()),
)
"""Runs that loaded something, commits and committed files are kept: what was loaded is to be answered for."""


ROW_IDS_DAYS = 7
"""How long it is kept which rows a replay was about, by their ids."""
SAMPLE_HOURS = 1
"""How long the values that a preview has shown are kept."""
SAMPLES = Retention("Row values that a preview has shown", EffectSample, "at", SAMPLE_HOURS / 24, Q())


def list_retention() -> list[tuple[str, str]]:
    """What is kept for how long, in words."""
    kept = [(retention.what, counted(int(retention.days), "day")) for retention in RETENTION]
    return [
        ("Runs that loaded, their numbers, versions and loaded files", "for good"),
        *kept,
        ("Rejected rows that a replay was about, by their ids", counted(ROW_IDS_DAYS, "day")),
        ("Backups of tables", counted(KEPT_DAYS, "day")),
        ("Samples of loaded rows, beside their table", counted(SAMPLES_KEPT_DAYS, "day")),
        ("What replays did with each row, beside their table", counted(RESULTS_KEPT_DAYS, "day")),
        ("Held loads without a decision", f"{settings.HOLD_HOURS:g} hours"),
        (SAMPLES.what, counted(SAMPLE_HOURS, "hour")),
    ]


def delete_old_samples() -> int:
    """Delete the row values of previews; more often than all else, for they are the data itself."""
    return _delete(SAMPLES)


def delete_old_rows() -> int:
    """Delete what is past its time, in small transactions; returns how many rows went."""
    _forget_row_ids()
    return sum(_delete(retention) for retention in RETENTION)


def _forget_row_ids() -> None:
    """A run that has ended needs them no more: what became of each row is told beside its table. What stays says what
    the run was to do, and why."""
    over = RowJob.objects.exclude(tables=[]).filter(run__ended_at__lt=from_now(-ROW_IDS_DAYS * DAY))
    while keys := list(over.values_list("pk", flat=True)[:AT_ONCE]):
        RowJob.objects.filter(pk__in=keys).update(tables=[], overwrite=[], hashes=[])


def _delete(retention: Retention) -> int:
    rows = retention.model._default_manager.filter(
        retention.only, **{f"{retention.age}__lt": from_now(-retention.days * DAY)}
    )
    total = 0
    while keys := list(rows.values_list("pk", flat=True)[:AT_ONCE]):
        retention.model._default_manager.filter(pk__in=keys).delete()
        total += len(keys)
    return total


def drop_old_row_samples() -> int:
    """Let go of what loads and replays have kept of rows beside their targets, in every target that answers."""
    dropped = 0
    for connection in Connection.objects.filter(kind=POSTGRES).order_by("pk"):
        try:
            dropped += target_database.drop_expired_rows(resolve(connection))
        except FlowError as error:
            logger.info("Rows kept behind connection %s were not dropped: %s", connection.name, error.code)
    return dropped


def sweep_staging() -> list[str]:
    """Drop staging tables of attempts that are over, in every target; returns their names."""
    swept: list[str] = []
    for connection in Connection.objects.filter(kind=POSTGRES).order_by("pk"):
        try:
            names = target_database.sweep_staging(resolve(connection), is_dead)
        except FlowError as error:
            logger.info("Connection %s was not swept: %s", connection.name, error.code)
            continue
        if names:
            swept += names
            raise_alert(
                "staging.leftovers",
                "warning",
                f"{len(names)} staging tables of dead attempts were dropped from {connection.name!r}.",
                "Nothing needs to be done; workers that die often deserve a look.",
                workspace=connection.workspace,
            )
    return swept


def is_dead(run_id: str, attempt: int) -> bool:
    """Whether an attempt is over for certain. A run that is not known here may be another installation's."""
    try:
        run = Run.objects.only("state", "attempt").get(pk=UUID(run_id))
    except (Run.DoesNotExist, ValueError):
        return False
    if run.state in ACTIVE and is_kept(run, attempt):
        return False
    return attempt < run.attempt or run.state != State.RUNNING
