"""`flow hooks`: rerun failed hooks."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Any

from flowapp.accounts.cli.workspace import current_workspace
from flowapp.cli.exits import HOOK_FAILED
from flowapp.cli.outcome import Outcome, text_outcome
from flowapp.cli.parser import add_command, add_group, add_run
from ir.words import duration_text


def add_parser(commands: Any) -> None:
    group = add_group(commands, "hooks", "failed hooks")
    again = add_command(group, "run", run_hook, "rerun a hook without repeating the load")
    add_run(again)
    again.add_argument("hook", metavar="HOOK", help="its id, as shown by `flow runs show`")
    again.add_argument("--detach", action="store_true", help="queue it for a worker and return")


def run_hook(args: Namespace) -> Outcome:
    from flowapp.runs import hooks, selectors

    run = selectors.find_run(current_workspace(), args.run)
    if args.detach:
        return text_outcome(
            hooks.ask_for_hook(run, args.hook).to_json(), f"The hook {args.hook} is queued to run again."
        )
    hook = hooks.run_hook_here(run, args.hook)
    text = f"The hook {args.hook} {hook.state} after {duration_text(hook.duration_ms / 1000)}: {hook.statement}"
    lines = [text, f"  {hook.message}"] if hook.message else [text]
    return replace(text_outcome(hook.to_json(), *lines), status=0 if hook.state == "succeeded" else HOOK_FAILED)
