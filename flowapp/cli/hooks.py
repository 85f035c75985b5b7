"""`flow hooks`: hooks that failed after a load, run again."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Any

from flowapp.cli.exits import HOOK_FAILED
from flowapp.cli.outcome import Outcome, said
from flowapp.cli.parser import add_command, add_group, add_run
from flowapp.cli.workspace import current_workspace


def add_parser(commands: Any) -> None:
    group = add_group(commands, "hooks", "hooks that failed after a load")
    again = add_command(group, "run", run_hook, "run a hook again; the load itself is not repeated")
    add_run(again)
    again.add_argument("hook", metavar="HOOK", help="its id, as `flow runs show` lists it")
    again.add_argument("--detach", action="store_true", help="leave it to a worker and return")


def run_hook(args: Namespace) -> Outcome:
    from flowapp.runs import hooks, selectors

    run = selectors.find_run(current_workspace(), args.run)
    if args.detach:
        return said(hooks.ask_for_hook(run, args.hook), f"The hook {args.hook} is asked to run again.")
    hook = hooks.run_hook_here(run, args.hook)
    told = f"The hook {args.hook} {hook['state']} after {hook['durationMs']:,} ms: {hook['statement']}"
    lines = [told, f"  {hook['message']}"] if hook["message"] else [told]
    return replace(said(hook, *lines), status=0 if hook["state"] == "succeeded" else HOOK_FAILED)
