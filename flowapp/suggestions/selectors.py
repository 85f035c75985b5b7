"""Suggestions from stored samples of a target: proposed rules, and the number of rows that would violate a rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from executors.api import Proposal, Trial, propose, try_rule
from executors.target_database import Owner, SampleRow, read_samples
from flowapp.connections.target_databases import database_of
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.edits import find_node
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_version
from flowapp.runs.models import ACTIVE, Run, RunKind
from flowapp.suggestions.drafted import draft_to_sample
from ir.errors import FlowError
from ir.lineage import columns_of_other_rows
from ir.nodes import Target
from ir.pointers import ROOT
from ir.rules import RULES, RowRule

SOURCE, LOAD = "source", "load"


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows that were stored together, by the last sampling of the source or by one load."""

    kind: str
    rows: tuple[SampleRow, ...]
    run: Run | None

    @property
    def taken_at(self) -> datetime:
        return self.rows[0].taken_at

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(row.file for row in self.rows if row.file))

    @property
    def values(self) -> list[Mapping[str, Any]]:
        return [row.row for row in self.rows]


@dataclass(frozen=True, slots=True)
class SampleTrial:
    """The number of rows of one sample that would have failed a rule."""

    sample: Sample
    trial: Trial

    @property
    def examples(self) -> list[SampleRow]:
        return [self.sample.rows[index] for index in self.trial.examples]


def target_of(view: DraftView, node: str) -> Target:
    """Return the target whose database stores the samples for a validate node of the draft, or else of the newest
    version. Raises FlowError."""
    try:
        return read_document(draft_to_sample(view, node)).targets()[0]
    except FlowError as not_ready:
        if target := _saved_target(view.draft.pipeline, node):
            return target
        raise not_ready


def _saved_target(pipeline: Pipeline, node: str) -> Target | None:
    if not pipeline.latest_number:
        return None
    document = read_document(get_version(pipeline).document)
    for target in document.targets():
        if any(validate.id == node for validate in document.path_to(target).validates):
            return target
    return None


def list_samples(pipeline: Pipeline, target: Target) -> list[Sample]:
    """List the sample of the source first, then those of loads, the newest first. Raises Failure if the target's
    database cannot be reached."""
    connection = database_of(pipeline.workspace, target, "Samples are")
    rows = read_samples(connection, Owner(str(pipeline.workspace_id), pipeline.slug), target.id)
    grouped: dict[tuple[str, str], list[SampleRow]] = {}
    for row in rows:
        grouped.setdefault((row.kind, row.run_id), []).append(row)
    runs = Run.objects.filter(workspace=pipeline.workspace_id, pk__in=[UUID(run_id) for _, run_id in grouped])
    known = {str(run.pk): run for run in runs}
    samples = [Sample(kind, tuple(rows), known.get(run_id)) for (kind, run_id), rows in grouped.items()]
    samples.reverse()
    return sorted(samples, key=lambda sample: sample.kind != SOURCE)


def last_sampling(pipeline: Pipeline) -> Run | None:
    """Return the run that took the last sample or tried to."""
    return Run.objects.filter(pipeline=pipeline, kind=RunKind.SAMPLE).order_by("-queued_at", "id").first()


def is_going_on(run: Run | None) -> bool:
    return run is not None and run.state in ACTIVE


def is_outdated(sample: Sample, document: str) -> bool:
    """Return whether a sample of the source is older than the parts of the draft on which it depends."""
    return bool(sample.kind == SOURCE and sample.run and sample.run.draft_document not in ("", document))


def columns_left_out(document: str) -> tuple[str, ...]:
    """Return the columns that a sample by this document leaves out, because other rows determine their values."""
    pipeline = read_document(document)
    paths = pipeline.paths_to(pipeline.targets()[0])
    return tuple(dict.fromkeys(name for path in paths for name in columns_of_other_rows(path)))


def list_proposals(samples: Sequence[Sample], node: Mapping[str, Any]) -> list[Proposal]:
    """List the rules and checks that the first sample suggests and the node does not have yet."""
    if not samples:
        return []
    existing = {(rule.get("type"), rule.get("field")) for rule in node.get("rowLevel") or () if isinstance(rule, dict)}
    return [
        proposal
        for proposal in propose(samples[0].values, samples[0].rows[0].types)
        if (proposal.spec.get("type"), proposal.spec.get("field")) not in existing
        and not (proposal.check and proposal.check in (node.get("datasetLevel") or {}))
    ]


def read_rule(spec: Any) -> RowRule:
    """Parse a row rule of a document; raises FlowError."""
    kind = spec.get("type") if isinstance(spec, dict) else None
    if not isinstance(kind, str) or kind not in RULES:
        raise FlowError("rule.type_unknown", f"Unknown rule {kind!r}.", hint=f"Rules: {', '.join(RULES)}.")
    try:
        rule = RULES[kind].model_validate({"onFail": "warn", **spec})
    except ValidationError as wrong:
        first = wrong.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise FlowError(
            "rule.invalid", f"{where or kind}: {first['msg']}.", hint="See the schema of the rule."
        ) from None
    # The types do not detect every error, such as an invalid pattern, which would end the trial.
    for found in rule.check(ROOT):
        if found.severity == "error":
            raise FlowError(found.code, found.message, hint=found.hint)
    return rule


def try_on_samples(rule: RowRule, samples: Sequence[Sample], target: Target) -> list[SampleTrial]:
    return [
        SampleTrial(sample, try_rule(rule, sample.values, empty_is_null=target.empty_as_null)) for sample in samples
    ]


def rules_of(node: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], RowRule]]:
    """Return the rules of a draft's node that can be parsed."""
    for spec in node.get("rowLevel") or ():
        try:
            yield spec, read_rule(spec)
        except FlowError:
            continue  # the editor reports its errors


def node_of(view: DraftView, node: str) -> Mapping[str, Any]:
    """Return the validate node of the draft; raises FlowError."""
    return find_node(view.last_good, node)[1]
