"""Taps in processes of their own: what they can see, how they end, and what is left of them."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from executors.errors import Failure, Terminal
from executors.model import StoreConnection
from executors.processes.launch import sandbox_version
from executors.processes.private_folder import RUNNING, private_folder, sweep_private_folders
from executors.secrets import _fernet
from executors.singer.catalogs import Selection
from executors.singer.environments import TapFolder
from executors.singer.installing import _delete_unused, remove_tap
from executors.singer.reading import StreamRead, TapReader
from executors.singer.settings import TapSettings, merge_settings
from tests.taps import ORDERS, add_script

pytestmark = pytest.mark.skipif(not sandbox_version(), reason="this kernel has no Landlock")

SCHEMA = "write(type='SCHEMA', stream='s', schema={'properties': {'v': {'type': 'string'}}})\n"


def stored(secret: str) -> StoreConnection:
    return StoreConnection("shop", "singer", {"tap": "shop"}, {"settings": secret})


def reader(root: Path, code: str, *, config: Any = None, secret: str = "", **options: Any) -> TapReader:
    folder, tap = add_script(root / "taps", "shop", code)
    settings = merge_settings(tap, config or {}, stored(secret) if secret else None)
    (root / "files").mkdir(exist_ok=True)
    return TapReader(folder, tap, settings, **{"seconds": 20, "readable": [root / "files"], **options})


def read(tap: TapReader, stream: str = "s", **options: Any) -> tuple[StreamRead, list[str]]:
    rows: list[str] = []
    options = {"uses_catalog": False, **options}
    return tap.read(Selection(stream), take=lambda row: not rows.append(row), **options), rows


def test_a_stream_is_read_since_its_state(tmp_path: Path) -> None:
    tap = reader(tmp_path, ORDERS, config={"path": "orders.jsonl"})
    lines = [f'{{"id": {n}, "amount": 0.{n}0, "changed": "2026-01-0{n}T00:00:00Z"}}\n' for n in (1, 2)]
    (tmp_path / "files" / "orders.jsonl").write_text("".join(lines))
    first, rows = read(tap, "orders", uses_catalog=True)
    assert rows == [line.strip() for line in lines]
    assert [str(field.type) for field in first.fields] == ["bigint", "pg:numeric", "timestamptz"]
    assert first.state == '{"changed": "2026-01-02T00:00:00Z"}'
    _, again = read(tap, "shop-orders", uses_catalog=True, state=first.state)
    assert again == [lines[1].strip()]


def test_a_tap_sees_neither_variables_nor_files_of_flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOW_SECRET_KEY", "hidden")
    private = tmp_path / "secrets.json"
    private.write_text("hidden")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "in.csv").write_text("open")
    code = f"""
    {SCHEMA.strip()}
    def tried(path, mode="r"):
        try:
            return open(path, mode).read() if mode == "r" else open(path, mode).write("x")
        except OSError as error:
            return type(error).__name__
    found = [os.environ.get("FLOW_SECRET_KEY"), tried({str(private)!r}), tried("/proc/{os.getpid()}/environ"),
             tried("in.csv"), tried("in.csv", "w"), tried(os.environ["HOME"] + "/own", "w"), tried("/tmp/x", "w")]
    write(type="RECORD", stream="s", record={{"v": json.dumps(found)}})
    """
    _, (row,) = read(reader(tmp_path, code))
    refused = "PermissionError"
    assert json.loads(json.loads(row)["v"]) == [None, refused, refused, "open", refused, 1, refused]


@pytest.mark.skipif(sandbox_version() < 6, reason="the kernel cannot deny signals")
def test_a_tap_cannot_send_signals_to_other_processes(tmp_path: Path) -> None:
    code = f"""
    {SCHEMA.strip()}
    try:
        os.kill({os.getpid()}, 0)
    except PermissionError:
        write(type="RECORD", stream="s", record={{"v": "refused"}})
    """
    assert read(reader(tmp_path, code))[1] == ['{"v": "refused"}']


def test_the_settings_are_private_and_deleted(tmp_path: Path) -> None:
    code = f"""
    {SCHEMA.strip()}
    found = [oct(os.stat(args.config).st_mode & 0o777), oct(os.stat(os.environ["HOME"]).st_mode & 0o777)]
    write(type="RECORD", stream="s", record={{"v": found, "config": config, "args": sys.argv}})
    """
    _, (row,) = read(reader(tmp_path, code, config={"since": "2026"}, secret='{"token": "hidden-7"}'))
    found = json.loads(row)
    assert found["v"] == ["0o600", "0o700"]
    assert found["config"] == {"since": "2026", "token": "hidden-7"}
    assert "hidden" not in " ".join(found["args"])
    assert list((tmp_path / "taps" / RUNNING).iterdir()) == []


def test_the_settings_that_a_killed_worker_leaves_are_deleted_by_the_next(tmp_path: Path) -> None:
    left = tmp_path / "taps" / RUNNING / "left"
    (left / "below").mkdir(parents=True)
    (left / "config.json").write_text("hidden")
    left.with_suffix(".lock").touch()
    with private_folder(tmp_path / "taps") as used:
        assert sweep_private_folders(tmp_path / "taps") == 0
        assert sorted(path.name for path in used.parent.iterdir()) == [used.name, f"{used.name}.lock"]


def test_a_tap_that_fails_names_its_status_and_encrypts_its_last_lines(tmp_path: Path) -> None:
    code = f"{SCHEMA}print('ERROR no access for hidden-7', file=sys.stderr); sys.exit(3)"
    with pytest.raises(Failure) as error:
        read(reader(tmp_path, code, secret='{"auth": {"token": "hidden-7"}}'))
    assert (error.value.code, error.value.message) == ("singer.tap_failed", "The tap shop ended with status 3.")
    assert _fernet().decrypt(error.value.encrypted_detail.encode()) == "ERROR no access for •••".encode()


def test_warnings_of_a_successful_tap_are_noted_without_secrets_and_bounded(tmp_path: Path) -> None:
    code = f"""
    {SCHEMA.strip()}
    print("INFO all is well", file=sys.stderr)
    for n in range(150):
        print(f"WARNING skipped {{n}} with hidden-7", file=sys.stderr)
    """
    found, _ = read(reader(tmp_path, code, secret='{"token": "hidden-7"}'))
    assert found.notes[0] == "The tap logged: WARNING skipped 0 with •••"
    assert len(found.notes) == 101
    assert found.notes[-1] == "The tap logged 50 more warnings and errors."
    assert found.errors == 0


def test_a_tap_is_killed_with_its_children_when_the_run_ends(tmp_path: Path) -> None:
    code = f"""
    import subprocess
    {SCHEMA.strip()}
    child = subprocess.Popen(["/bin/sleep", "60"])
    write(type="RECORD", stream="s", record={{"v": str(child.pid)}})
    time.sleep(60)
    """
    tap = reader(tmp_path, code)
    pids: list[int] = []

    def take(row: str) -> bool:
        pids.append(int(json.loads(row)["v"]))
        threading.Timer(0.2, tap.interrupt).start()
        return True

    with pytest.raises(Failure) as error:
        tap.read(Selection("s"), uses_catalog=False, take=take)
    assert error.value.code == "singer.interrupted"
    assert _has_ended(pids[0])


def test_a_tap_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(Failure) as error:
        read(reader(tmp_path, f"{SCHEMA}time.sleep(60)", seconds=1))
    assert error.value.code == "singer.timeout"


def test_a_tap_is_stopped_once_no_more_rows_are_wanted(tmp_path: Path) -> None:
    code = f"{SCHEMA}while True: write(type='RECORD', stream='s', record={{'v': 'x'}})"
    rows: list[str] = []
    reader(tmp_path, code).read(
        Selection("s"), uses_catalog=False, take=lambda row: rows.append(row) is None and len(rows) < 3
    )
    assert len(rows) == 3


def test_memory_is_limited(tmp_path: Path) -> None:
    with pytest.raises(Failure) as error:
        read(reader(tmp_path, f"{SCHEMA}x = bytearray(5 << 30)"))
    assert error.value.code == "singer.tap_failed"


def test_rows_of_other_streams_are_noted(tmp_path: Path) -> None:
    code = f"{SCHEMA}{SCHEMA.replace('=' + repr('s'), '=' + repr('t'))}write(type='RECORD', stream='t', record={{}})"
    found, rows = read(reader(tmp_path, code))
    assert (rows, found.notes) == (
        [],
        ("The tap also sent 1 rows of the stream t, which the source does not read.",),
    )


def test_a_tap_that_sends_nothing_of_the_stream_fails(tmp_path: Path) -> None:
    with pytest.raises(Failure) as error:
        read(reader(tmp_path, "pass"))
    assert error.value.code == "singer.stream_missing"


def test_a_tap_that_cannot_be_started_fails(tmp_path: Path) -> None:
    tap = reader(tmp_path, "")
    (tmp_path / "taps" / "shop" / "build-1" / "bin" / "tap-shop").unlink()
    with pytest.raises(Failure) as error:
        read(tap)
    assert error.value.code == "singer.tap_failed"


@pytest.mark.parametrize("given", [{"url": "https://example.com"}, {"token": "x"}])
def test_settings_that_pipelines_may_not_give_are_refused(tmp_path: Path, given: dict[str, str]) -> None:
    _, tap = add_script(tmp_path, "shop", "", settings=("start_date", "token"))
    with pytest.raises(Failure) as error:
        merge_settings(tap, given, stored('{"token": "y"}'))
    assert error.value.code == "singer.setting_refused"


def test_settings_are_not_shown() -> None:
    assert "hidden" not in repr(TapSettings({"token": "hidden"}, {"token": "hidden"}))


def _has_ended(pid: int) -> bool:
    for _ in range(50):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z":
            return True
        time.sleep(0.1)
    return False


def test_an_environment_that_is_used_is_neither_replaced_nor_removed(tmp_path: Path) -> None:
    folder, old = add_script(tmp_path / "taps", "shop", SCHEMA)
    with folder.used("shop"):
        new = replace(old, build="build-2")
        folder.build(new).mkdir()
        folder.publish(new)
        _delete_unused(folder, folder.root / "shop", but=new.build)
        assert folder.build(old).exists()
        with pytest.raises(Terminal) as refused:
            remove_tap(folder, "shop")
        assert refused.value.code == "singer.tap_used"
    _delete_unused(folder, folder.root / "shop", but=new.build)
    assert not folder.build(old).exists()


def test_an_environment_that_is_deleted_while_its_user_waits_is_not_used(tmp_path: Path) -> None:
    folder, old = add_script(tmp_path / "taps", "shop", SCHEMA)
    with ThreadPoolExecutor(1) as pool:
        with folder.unused(folder.build(old)) as is_unused:
            assert is_unused
            waiting = pool.submit(_name_of_used, folder)
            time.sleep(0.2)
            assert not waiting.done()
            new = replace(old, build="build-2")
            folder.build(new).mkdir()
            folder.publish(new)
            shutil.rmtree(folder.build(old))
        assert waiting.result(10) == "build-2"


def _name_of_used(folder: TapFolder) -> str:
    with folder.used("shop") as tap:
        return tap.build
