"""Removes obsolete data of runs from a target database."""

from __future__ import annotations

from collections.abc import Callable, Collection

from executors.model import BackupRef, Connection
from executors.postgres import backups, forgetting
from executors.postgres.forgetting import forget_samples, sampled_runs
from executors.postgres.quarantined import Owner
from executors.postgres.replay_results import drop_old_results
from executors.postgres.samples import drop_old_samples
from executors.postgres.staging import drop_staging, staging_tables, sweep_leftovers
from executors.target_database.session import open_session


def drop_backups(connection: Connection, refs: Collection[BackupRef]) -> None:
    """Drop backups. Raises Failure."""
    with open_session(connection) as session:
        backups.drop_backups(session, refs)


def drop_staged_load(connection: Connection, run_id: str, node: str, attempt: int) -> None:
    """Drop the staged rows of an attempt. Raises Failure."""
    with open_session(connection) as session:
        drop_staging(session, staging_tables(run_id, node, attempt))


def drop_expired_rows(connection: Connection) -> int:
    """Delete expired samples and results of replays; returns the number of rows. Raises Failure."""
    with open_session(connection) as session:
        return drop_old_samples(session) + drop_old_results(session)


def drop_dead_staging(connection: Connection, is_dead: Callable[[str, int], bool]) -> list[str]:
    """Drop the staging tables of attempts (run, number) that have ended; returns their names. Raises Failure."""
    with open_session(connection) as session:
        return sweep_leftovers(session, is_dead)


def clear_pipeline(
    connection: Connection,
    owner: Owner,
    *,
    backups_taken: Collection[BackupRef],
    runs: Collection[str],
    list_known: Callable[[Collection[str]], Collection[str]],
) -> None:
    """Drop the data of a deleted pipeline: its backups, the staging tables of its `runs`, and the samples of all runs
    except those that `list_known` returns, which may belong to another pipeline with the same id. Raises Failure."""
    with open_session(connection) as session:
        backups.drop_backups(session, backups_taken)
        sweep_leftovers(session, lambda run, _: run in runs)
        sampled = sampled_runs(session, owner.tenant, owner.pipeline)
        unknown = sorted(set(sampled) - set(list_known(sampled)))
        forget_samples(session, owner.tenant, owner.pipeline, unknown)


def delete_watermarks(connection: Connection, owner: Owner) -> None:
    """Delete the watermarks of a pipeline with their history. Raises Failure."""
    with open_session(connection) as session:
        forgetting.delete_watermarks(session, owner.tenant, owner.pipeline)
