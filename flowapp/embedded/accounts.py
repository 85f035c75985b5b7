"""Choose the system user that runs the servers, and folders that this user can access.

PostgreSQL refuses to run as root. Root therefore runs the servers as a separate system user, who may not be able to
access root's files: then programs and data are stored below `/var/lib/flow` instead."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flowapp.embedded.errors import EmbeddedError

SERVER_USER = "flow-postgres"
SHARED_STATE = Path("/var/lib/flow")
_PASSWD_IS_LOCKED = 1


@dataclass(frozen=True)
class Account:
    """The system user that runs the servers. `uid` and `gid` are None if it is the user who runs Flow."""

    uid: int | None = None
    gid: int | None = None

    def popen_options(self) -> dict[str, Any]:
        """Return the arguments with which `subprocess` starts a process as this user."""
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        """Make this user the owner of `path`."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def can_reach(self, path: Path) -> bool:
        """Return whether this user can enter the existing folder `path`."""
        if self.uid is None:
            return True
        probe = ["/bin/sh", "-c", 'cd "$1"', "sh", str(path)]
        return subprocess.run(probe, cwd="/", stderr=subprocess.DEVNULL, **self.popen_options()).returncode == 0

    def can_run(self, program: Path) -> bool:
        """Return whether this user can run `program`, which must accept `--version`."""
        try:
            done = subprocess.run([program, "--version"], cwd="/", capture_output=True, **self.popen_options())
        except PermissionError:
            return False
        return done.returncode == 0


def server_account(root: Path) -> Account:
    """Return the account of the user who runs Flow. For root, return the owner of existing data, else Flow's own system
    user.

    Raises `EmbeddedError` if root has no such user, cannot create one, or may not start processes as that user."""
    if os.geteuid() != 0:
        return Account()
    account = _owner_of(root / "services") or _system_account()
    try:
        subprocess.run(["/bin/sh", "-c", ":"], cwd="/", check=True, **account.popen_options())
    except (PermissionError, subprocess.SubprocessError) as error:
        raise _no_account(f"this root may not start processes as the user with id {account.uid}") from error
    return account


def _owner_of(folder: Path) -> Account | None:
    if not folder.exists() or folder.stat().st_uid == 0:
        return None
    return Account(folder.stat().st_uid, folder.stat().st_gid)


def _system_account() -> Account:
    entry = _find_user(SERVER_USER) or _make_user() or _find_user("nobody")
    if entry is None:
        raise _no_account("there is no system user to run it as and useradd is missing")
    return Account(entry.pw_uid, entry.pw_gid)


def _find_user(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _make_user() -> pwd.struct_passwd | None:
    useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if useradd is None:
        return None
    command = [useradd, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    for _ in range(5):
        done = subprocess.run([*command, "--shell", "/bin/false", SERVER_USER], capture_output=True)
        if done.returncode != _PASSWD_IS_LOCKED:
            break
        time.sleep(0.2)
    return _find_user(SERVER_USER)


def _no_account(reason: str) -> EmbeddedError:
    return EmbeddedError(
        "embedded.root_refused",
        f"PostgreSQL does not run as root, and {reason}.",
        hint=f"Run Flow as an ordinary user, create the system user {SERVER_USER}, "
        "or set FLOW_DATABASE_URL and FLOW_REDIS_URL to servers of your own.",
    )


def server_folder(account: Account, root: Path, home_id: str) -> Path:
    """Return the folder with the servers' data and programs, owned by `account` and closed to other users.

    It is `<FLOW_HOME>/services`, or `/var/lib/flow/<home_id>` if the account cannot access FLOW_HOME."""
    folder = root / "services"
    if not account.can_reach(root):
        SHARED_STATE.mkdir(mode=0o711, parents=True, exist_ok=True)
        folder = SHARED_STATE / home_id
    folder.mkdir(exist_ok=True)
    folder.chmod(0o700)
    account.own(folder)
    if folder.parent == SHARED_STATE:
        (root / "services.moved").write_text(f"{folder}\n")
    return folder


def runnable(account: Account, program: Path, package: Path, folder: Path) -> Path:
    """Return `program`, or a copy of it below `folder` if `account` cannot run the original.

    `package` is the folder of the wheel that contains it. The wheel's libraries are in `<package>.libs` beside it and
    are found by their relative path, so both are copied."""
    if account.can_run(program):
        return program
    copies = folder / "programs" / package.name
    copy = copies / str(package.stat().st_mtime_ns)
    if not copy.exists():
        shutil.rmtree(copies, ignore_errors=True)
        draft = copies / "new"
        for tree in (package, package.with_name(f"{package.name}.libs")):
            if tree.exists():
                shutil.copytree(tree, draft / tree.name, symlinks=True, ignore=shutil.ignore_patterns("*.py*"))
        _open_to(account, folder / "programs")
        draft.replace(copy)
    return copy / program.relative_to(package.parent)


def _open_to(account: Account, tree: Path) -> None:
    for parent, _, files in os.walk(tree):
        for path in (Path(parent), *(Path(parent, f) for f in files)):
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
            account.own(path)
