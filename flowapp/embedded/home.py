"""FLOW_HOME: its files, their permissions, and the passwords of the embedded services."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from flowapp.embedded.errors import EmbeddedError

PROJECT = Path(__file__).resolve().parents[2]


def flow_home() -> Path:
    """Return the absolute path of `FLOW_HOME`, or of `.flow/` in the project. The folder may not exist yet."""
    return Path(os.environ.get("FLOW_HOME") or PROJECT / ".flow").expanduser().absolute()


class ServiceFiles:
    """The small files of one service of a home."""

    def __init__(self, root: Path, name: str) -> None:
        self.owner_lock = root / f"{name}.lock"
        """Locked by the one process that runs the service."""
        self.users_lock = root / f"{name}.users"
        """Shared by all processes that use the service. The supervisor stops the service once it can lock the file
        exclusively."""
        self.state = root / f"{name}.json"
        """The port and the process ids of the running service."""
        self.port = root / f"{name}.port"
        """The port of the last start, which the next start tries first so that addresses stay the same."""


@dataclass(frozen=True)
class Home:
    """The folder `root` and the paths in it."""

    root: Path

    @property
    def secrets_file(self) -> Path:
        return self.root / "secrets.json"

    def service(self, name: str) -> ServiceFiles:
        return ServiceFiles(self.root, name)

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def make(self) -> None:
        """Create the folders.

        Root's FLOW_HOME may be entered, but not listed, by other users, because root runs the servers as another user.
        Raises `EmbeddedError` if the folder cannot be written."""
        try:
            for folder, mode in ((self.root, 0o711 if os.geteuid() == 0 else 0o700), (self.logs, 0o700)):
                if not folder.exists():
                    folder.mkdir(parents=True, exist_ok=True)
                    folder.chmod(mode)
            closed = [p for p in (self.root, self.logs, *self.root.glob("*.*")) if not os.access(p, os.R_OK | os.W_OK)]
        except OSError as error:
            raise _unwritable(self.root, error.strerror or str(error)) from error
        if closed:
            raise _unwritable(closed[0], "it belongs to another user, or its disk is read-only")


def _unwritable(path: Path, reason: str) -> EmbeddedError:
    return EmbeddedError(
        "embedded.home_unwritable",
        f"{path} cannot be written: {reason}.",
        hint="Set FLOW_HOME to a folder that you own, with a few hundred MB free.",
    )


@dataclass(frozen=True)
class Secrets:
    """Passwords of the embedded services. `id` identifies this home among those on one machine. The passwords of all
    warehouses are derived from `warehouse`."""

    id: str = field(default_factory=lambda: secrets.token_hex(6))
    admin: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    control: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    warehouse: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    broker: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)


def load_secrets(home: Home) -> Secrets:
    """Return the home's secrets; create them on first use. Concurrent processes get the same secrets."""
    if not home.secrets_file.exists():
        draft = home.secrets_file.with_suffix(f".{os.getpid()}")
        _write_private(draft, json.dumps(asdict(Secrets())))
        try:
            os.link(draft, home.secrets_file)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    stored = json.loads(home.secrets_file.read_text())
    return Secrets(**{f.name: stored[f.name] for f in fields(Secrets)})


def write_atomically(path: Path, content: str) -> None:
    """Replace `path` atomically. Only its owner can read it."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    _write_private(draft, content)
    draft.replace(path)


def read_json(path: Path) -> dict[str, int] | None:
    """Return the JSON object in `path`, or None if the file does not exist or is invalid."""
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _write_private(path: Path, content: str) -> None:
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
