"""The installed taps: each has a virtual environment of its own in the folder of taps.

`NAME/tap.json` names the environment in use, `NAME/BUILD/`. It is written last, so that an environment is complete
when it can be seen.
"""

from __future__ import annotations

import fcntl
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from executors.errors import Terminal, Transient
from executors.processes.private_folder import is_same_file

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
DESCRIPTION = "tap.json"
_LOCK = "flow.lock"
_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Tap:
    """An installed tap. `package` is the distribution with its version, `packages` are all of the environment.

    `settings` are the names of the settings that pipelines may give; None means all. Those of a connection are not
    limited. `sandbox` says whether the tap can read only its own files and those of the workspace.
    """

    name: str
    package: str
    executable: str
    build: str
    packages: tuple[str, ...]
    settings: tuple[str, ...] | None
    sandbox: bool
    added_at: str

    def refused(self, given: Iterator[str] | list[str]) -> list[str]:
        """Return the settings among `given` that pipelines may not give."""
        return [] if self.settings is None else sorted(set(given) - set(self.settings))


@dataclass(frozen=True, slots=True)
class TapFolder:
    """The folder of all taps of this installation."""

    root: Path

    def list(self) -> list[Tap]:
        """Return the installed taps by name."""
        found = (self._read(path) for path in sorted(self.root.glob(f"*/{DESCRIPTION}")))
        return [tap for tap in found if tap is not None]

    def find(self, name: str) -> Tap:
        """Return an installed tap. Raises Terminal `singer.tap_unknown`."""
        found = self._read(self.root / name / DESCRIPTION) if NAME.fullmatch(name) else None
        if found is not None:
            return found
        known = ", ".join(tap.name for tap in self.list())
        raise Terminal(
            "singer.tap_unknown",
            f"The tap {name!r} is not installed; {f'installed are {known}' if known else 'none is'}.",
            hint="An administrator of this installation adds taps: flow tap add NAME --package PACKAGE==VERSION",
        )

    def build(self, tap: Tap) -> Path:
        """Return the virtual environment."""
        return self.root / tap.name / tap.build

    @contextmanager
    def used(self, name: str) -> Iterator[Tap]:
        """Use an installed tap; its environment is not deleted meanwhile. Raises Terminal `singer.tap_unknown`, and
        Transient `singer.tap_changed` if it is replaced again and again."""
        for _ in range(_ATTEMPTS):
            tap = self.find(name)
            path = self.build(tap) / _LOCK
            try:
                lock = path.open("rb")
            except FileNotFoundError:
                continue
            with lock:
                fcntl.flock(lock, fcntl.LOCK_SH)
                if is_same_file(lock, path):  # until the lock was taken, the environment could be deleted
                    yield tap
                    return
        raise Transient("singer.tap_changed", f"The tap {name} was just replaced.", hint="Run again.")

    @contextmanager
    def unused(self, build: Path) -> Iterator[bool]:
        """Return whether no process uses an environment. If so, none can begin to use it in this block."""
        path = build / _LOCK
        if not path.exists():  # it is incomplete
            yield True
            return
        with path.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True

    def publish(self, tap: Tap) -> None:
        """Make a complete environment the one in use."""
        (self.build(tap) / _LOCK).touch()
        path = self.root / tap.name / DESCRIPTION
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(tap), indent=2) + "\n", encoding="utf-8")
        draft.replace(path)

    def _read(self, path: Path) -> Tap | None:
        try:
            stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        settings = stored["settings"]
        return Tap(
            **{
                **stored,
                "packages": tuple(stored["packages"]),
                "settings": None if settings is None else tuple(settings),
            }
        )
