"""A run belongs to one worker at a time, and a pipeline to one run."""

from __future__ import annotations

import pytest

from executors.errors import LeaseLost
from executors.load_record import LoadCommit, TableIdentity
from executors.model import SourceFile
from executors.report import NodeReport
from flowapp.clock import from_now
from flowapp.runs.leases import claim_run, take_over
from flowapp.runs.models import NodeRun, Run, RunLog, State, Trigger
from flowapp.runs.ports import DatabaseEvents, make_ports
from flowapp.runs.services import queue_run
from ir.errors import FlowError
from tests.flowapp.together import at_once

pytestmark = pytest.mark.usefixtures("sent")


@pytest.mark.django_db(transaction=True)
def test_one_of_many_workers_gets_a_run(pipeline):
    run = queue_run(pipeline, Trigger.MANUAL)
    claims = at_once(*[lambda name=name: claim_run(run.pk, name) for name in ("a", "b", "c", "d")])
    assert len([claim for claim in claims if claim]) == 1
    run.refresh_from_db()
    assert (run.state, run.attempt) == (State.RUNNING, 1)


@pytest.mark.django_db(transaction=True)
def test_pressing_run_twice_at_once_runs_one_and_lets_the_other_wait(pipeline):
    runs = at_once(*[lambda: queue_run(pipeline, Trigger.MANUAL)] * 2)
    assert {run.number for run in runs} == {1, 2}
    claims = at_once(*[lambda run=run: claim_run(run.pk, str(run.number)) for run in runs])
    assert len([claim for claim in claims if claim]) == 1
    assert sorted(Run.objects.values_list("state", flat=True)) == [State.QUEUED, State.RUNNING]


@pytest.mark.django_db(transaction=True)
def test_of_two_that_refuse_to_wait_one_is_refused(pipeline):
    outcomes = at_once(*[lambda: queue_run(pipeline, Trigger.MANUAL, if_busy="refuse")] * 2)
    (refused,) = [outcome for outcome in outcomes if isinstance(outcome, FlowError)]
    assert refused.code == "run.busy"
    assert Run.objects.count() == 1


def test_every_claim_of_a_pipeline_has_a_higher_token(pipeline):
    tokens = []
    for _ in range(3):
        claim = claim_run(queue_run(pipeline, Trigger.MANUAL).pk, "worker")
        tokens.append(claim.token)
        claim.held().update(state=State.SUCCEEDED)
    assert tokens == sorted(set(tokens))


def test_a_run_that_is_not_due_is_not_had(pipeline):
    run = queue_run(pipeline, Trigger.MANUAL)
    Run.objects.filter(pk=run.pk).update(due_at=from_now(60))
    assert claim_run(run.pk, "worker") is None


def test_a_second_delivery_of_a_leased_run_leaves(pipeline):
    run = queue_run(pipeline, Trigger.MANUAL)
    claim = claim_run(run.pk, "first")
    assert claim_run(run.pk, "second") is None
    assert claim.held().exists()


def test_a_live_lease_is_not_taken_over(pipeline):
    run = queue_run(pipeline, Trigger.MANUAL)
    claim_run(run.pk, "worker")
    run.refresh_from_db()
    assert take_over(run, "other") is None


@pytest.mark.django_db(transaction=True)
def test_one_of_many_takes_over_a_dead_run(pipeline, expire):
    run = queue_run(pipeline, Trigger.MANUAL)
    first = claim_run(run.pk, "worker")
    expire(run)
    run.refresh_from_db()
    claims = at_once(*[lambda name=name: take_over(run, name) for name in ("a", "b", "c")])
    (claim,) = [claim for claim in claims if claim]
    assert claim.token > first.token


SHA = "0" * 64
WRITES = {
    "step": lambda ports: ports.events.step("load"),
    "node": lambda ports: ports.events.node_finished(NodeReport("load", "target")),
    "commit": lambda ports: ports.events.committed(LoadCommit("r", "load", 1, TableIdentity("s", "t", 1))),
    "log": lambda ports: ports.events.log("info", "Still here."),
    "alert": lambda ports: ports.events.alert("source.missed", "warning", "text", "next"),
    "unit claimed": lambda ports: ports.units.claim("files", {SHA: SourceFile(0, "/x", "x", 1, 1)}),
    "unit finished": lambda ports: ports.units.finish([SHA]),
    "unit failed": lambda ports: ports.units.fail("files", {SHA: SourceFile(0, "/x", "x", 1, 1)}, "reason"),
    "unit skipped": lambda ports: ports.units.skip("files", SourceFile(0, "/x", "x", 1, 1), SHA, "reason"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_worker_that_lost_its_lease_writes_nothing(pipeline, expire, write):
    run = queue_run(pipeline, Trigger.MANUAL)
    zombie = claim_run(run.pk, "zombie")
    expire(run)
    run.refresh_from_db()
    assert take_over(run, "other")
    with pytest.raises(LeaseLost):
        write(make_ports(zombie, run, None, DatabaseEvents(zombie, run)))
    run.refresh_from_db()
    assert not run.may_have_committed
    for rows in (NodeRun.objects, RunLog.objects, run.commits, pipeline.units, pipeline.alerts):
        assert not rows.exists()
