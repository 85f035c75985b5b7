"""FLOW_HOME: where things lie in it, who may read them, and the passwords of the embedded services."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from flowapp.embedded.errors import EmbeddedError

PROJECT = Path(__file__).resolve().parents[2]


def flow_home() -> Path:
    """`FLOW_HOME`, or `.flow/` in the project; absolute, not necessarily there yet."""
    return Path(os.environ.get("FLOW_HOME") or PROJECT / ".flow").expanduser().absolute()


class ServiceFiles:
    """The small files that belong to one service of a home."""

    def __init__(self, root: Path, name: str) -> None:
        self.owner_lock = root / f"{name}.lock"
        """Held by the one process that owns the service."""
        self.users_lock = root / f"{name}.users"
        """Shared by all who use the service; the supervisor stops it when it can take the lock alone."""
        self.state = root / f"{name}.json"
        """Port and process ids of the running service."""
        self.port = root / f"{name}.port"
        """The port last used, tried first so that addresses stay the same."""


@dataclass(frozen=True)
class Home:
    """The folder `root` and the names of what Flow keeps in it."""

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

        Root's FLOW_HOME may be passed through (not listed) by others, for root runs the servers as another user.
        Raises `EmbeddedError` when the folder cannot be written.
        """
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
    """Passwords of the embedded services. `id` names this home among those that share a machine; the passwords of all
    warehouses follow from `warehouse`."""

    id: str = field(default_factory=lambda: secrets.token_hex(6))
    admin: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    control: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    warehouse: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    broker: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)


def load_secrets(home: Home) -> Secrets:
    """The home's secrets, made on first use. Two processes at once agree on the same ones."""
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
    """Replace `path` in one step, readable by its owner alone."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    _write_private(draft, content)
    draft.replace(path)


def read_json(path: Path) -> dict[str, int] | None:
    """The object in `path`, or None when there is none or it is broken."""
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
