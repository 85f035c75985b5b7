"""Installed taps for tests: programs in Python without packages, so that no installation is needed."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from executors.singer.environments import Tap, TapFolder

PYTHON = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
"""The interpreter without this project's environment, which taps cannot read."""

_HEAD = """\
import argparse, json, os, sys, time
given = argparse.ArgumentParser()
given.add_argument("--config"); given.add_argument("--catalog"); given.add_argument("--state")
given.add_argument("--discover", action="store_true")
args = given.parse_args()
config = json.load(open(args.config))
state = json.load(open(args.state)) if args.state else None
catalog = json.load(open(args.catalog)) if args.catalog else None
def write(**message): print(json.dumps(message), flush=True)
"""


def add_script(
    root: Path, name: str, code: str, *, settings: tuple[str, ...] | None = None, sandbox: bool = True
) -> tuple[TapFolder, Tap]:
    """Install a tap with this code. It can use `args`, `config`, `catalog`, `state` and `write(type=…)`."""
    folder = TapFolder(root)
    tap = Tap(name, f"tap-{name}==1.0", f"tap-{name}", "build-1", (), settings, sandbox, "2026-01-01T00:00:00+00:00")
    program = folder.build(tap) / "bin" / tap.executable
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!{PYTHON} -I\n{_HEAD}{textwrap.dedent(code)}")
    program.chmod(0o755)
    folder.publish(tap)
    return folder, tap


ORDERS = """
SCHEMA = {"properties": {"id": {"type": "integer"}, "amount": {"type": ["null", "number"]},
                         "changed": {"type": "string", "format": "date-time"}}}
if args.discover:
    found = [{"breadcrumb": [], "metadata": {"table-key-properties": ["id"], "valid-replication-keys": ["changed"]}}]
    stream = {"tap_stream_id": "shop-orders", "stream": "orders", "schema": SCHEMA, "metadata": found}
    json.dump({"streams": [stream]}, sys.stdout)
    sys.exit()
since = (state or {}).get("changed", "")
write(type="SCHEMA", stream="orders", schema=SCHEMA, key_properties=["id"])
for line in open(config["path"]):
    row = json.loads(line)
    if row["changed"] >= since:
        print('{"type": "RECORD", "stream": "orders", "record": ' + line.strip() + '}')
        since = row["changed"]
write(type="STATE", value={"changed": since})
"""
"""A tap that reads orders from JSON lines, those since the state first to last. It repeats the rows at the state."""
