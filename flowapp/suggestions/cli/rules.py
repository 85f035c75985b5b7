"""`flow rules`: rules suggested from a sample, and how many rows would violate a rule."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import UsageError
from flowapp.cli.outcome import Outcome, listed, text_outcome
from flowapp.cli.parser import add_command, add_group

if TYPE_CHECKING:
    from flowapp.pipelines.drafts import DraftView

COLUMNS = {"what": "RULE", "on": "ON", "as": "AS", "hits": "HITS", "evidence": "EVIDENCE"}


def add_parser(commands: Any) -> None:
    group = add_group(commands, "rules", "suggest rules from a sample of the source, and try a rule on stored samples")
    suggest = add_command(
        group, "suggest", suggest_rules, "take a sample of the source and suggest rules that its rows pass"
    )
    suggest.add_argument("--stored", action="store_true", help="use the stored samples; do not take a new one")
    trying = add_command(group, "try", try_rule, "count the rows of each stored sample that would fail a rule")
    trying.add_argument(
        "--rule", required=True, metavar="JSON", help='the rule, such as {"type": "notNull", "field": "id"}'
    )
    for command in (suggest, trying):
        command.add_argument("pipeline", metavar="PIPELINE", help="its ID; the newest version is used")
        command.add_argument("node", metavar="NODE", help="the ID of the validate node")


def _view(args: Namespace) -> DraftView:
    from flowapp.pipelines.drafts import open_draft, view_draft
    from flowapp.pipelines.selectors import get_pipeline

    return view_draft(open_draft(get_pipeline(current_workspace(), args.pipeline), None))


def suggest_rules(args: Namespace) -> Outcome:
    from flowapp.suggestions import selectors
    from flowapp.suggestions.serializers import ProposalSerializer, SampleSerializer

    view = _view(args)
    target = selectors.target_of(view, args.node)
    if not args.stored:
        _sample(view)
    samples = selectors.list_samples(view.draft.pipeline, target)
    proposals = selectors.list_proposals(samples, selectors.node_of(view, args.node))
    found = [ProposalSerializer(proposal).data for proposal in proposals]
    table = [
        {**one, "what": proposal.name, "on": proposal.field, "as": json.dumps(one["spec"], ensure_ascii=False)}
        for one, proposal in zip(found, proposals, strict=True)
    ]
    document = {"samples": [SampleSerializer(sample).data for sample in samples], "suggestions": found}
    return Outcome(document, listed("suggestions", table, COLUMNS, "No further rules to suggest.").show)


def _sample(view: DraftView) -> None:
    """Take a sample in this process. Raises the error of the run."""
    from flowapp.runs.dispatch import run_to_end
    from flowapp.runs.models import State, Trigger
    from flowapp.suggestions.services import take_sample
    from ir.errors import FlowError

    run = run_to_end(take_sample(view.draft.pipeline, Trigger.CLI, send=False))
    if run.state in (State.FAILED, State.CANCELLED):
        raise FlowError(run.error_code, run.error_message, hint=run.error_hint)


def try_rule(args: Namespace) -> Outcome:
    from flowapp.api.serializers import represent_all
    from flowapp.suggestions import selectors
    from flowapp.suggestions.serializers import TrialSerializer

    try:
        spec = json.loads(args.rule)
    except ValueError:
        raise UsageError("--rule expects JSON", command="flow rules try") from None
    view = _view(args)
    target = selectors.target_of(view, args.node)
    rule = selectors.read_rule(spec)
    samples = selectors.list_samples(view.draft.pipeline, target)
    tried = represent_all(TrialSerializer, selectors.try_on_samples(rule, samples, target))
    return text_outcome({"rule": spec, "results": tried}, *_lines(tried))


def _lines(tried: list[dict[str, Any]]) -> Iterator[str]:
    if not tried:
        yield "No samples yet. Take one: flow rules suggest"
    for one in tried:
        sample = one["sample"]
        what = "The sample of the source" if sample["kind"] == "source" else f"Load {sample['run']}"
        yield f"{what}: {one['untried'] or f'''{one['hits']:,} of {sample['rows']:,} rows'''}"
        for example in one["examples"]:
            yield f"  record {example['record']}: {json.dumps(example['row'], ensure_ascii=False)}"
