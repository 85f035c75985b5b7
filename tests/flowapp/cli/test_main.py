"""The frame of the command line: usage errors, interrupts, crashes, and which output receives what."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys

import pytest

from flowapp.accounts.cli import user
from flowapp.cli import main
from flowapp.cli.exits import without_secrets
from flowapp.cli.outcome import text_outcome


@pytest.mark.parametrize(
    "arguments", [(), ("user",), ("nope",), ("user", "add"), ("user", "link", "--jso"), ("--nope",)]
)
def test_what_cannot_be_understood_ends_in_64_with_a_hint(flow, arguments):
    finished = flow(*arguments)

    assert (finished.status, finished.stdout) == (64, "")
    assert "--help" in finished.stderr


def test_with_json_a_usage_error_is_one_json_object(flow):
    finished = flow("nope", "--json")

    assert finished.status == 64
    assert (finished.json["error"]["code"], finished.stderr) == ("usage", "")


def test_help_is_printed_to_stdout_with_status_0(flow):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])

    assert caught.value.code == 0


def run_instead(monkeypatch, handler):
    """Put a handler in the place of `flow user link`, without a database."""
    monkeypatch.setattr(user, "link_user", handler)
    monkeypatch.setattr("flowapp.cli._execute", lambda args: args.handler(args))


def test_an_interrupt_ends_in_130(flow, monkeypatch):
    def interrupted(args):
        raise KeyboardInterrupt

    run_instead(monkeypatch, interrupted)

    assert flow("user", "link", "x@example.com").status == 130


def test_sigterm_unwinds_like_an_interrupt(flow, monkeypatch):
    left = []

    def terminated(args):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            left.append(True)

    run_instead(monkeypatch, terminated)

    assert flow("user", "link", "x@example.com").status == 130
    assert left == [True]


def test_an_unexpected_error_is_one_line_with_an_id_and_a_private_file(flow, monkeypatch, tmp_path):
    def crashes(args):
        raise RuntimeError("cannot reach postgresql://etl:s3cret-word@db/x with key-9f8e7d")

    monkeypatch.setenv("FLOW_HOME", str(tmp_path))
    monkeypatch.setenv("FLOW_SECRET_KEY", "key-9f8e7d")
    run_instead(monkeypatch, crashes)
    finished = flow("user", "link", "x@example.com")

    [log] = (tmp_path / "logs").iterdir()
    assert finished.status == 1
    assert log.stem.removeprefix("crash-") in finished.stderr
    assert "Traceback" not in finished.stderr
    assert "cannot reach" in log.read_text()
    assert "s3cret" not in log.read_text() + finished.stderr
    assert "key-9f8e7d" not in log.read_text() + finished.stderr
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_with_json_all_other_output_is_on_stderr(flow, monkeypatch):
    def noisy(args):
        print("a library talks")
        os.write(1, b"a child process talks\n")
        return text_outcome({"answer": 42}, "forty-two")

    run_instead(monkeypatch, noisy)
    finished = flow("user", "link", "x@example.com", "--json")

    assert finished.json == {"answer": 42}
    assert finished.stderr.splitlines() == ["a library talks", "a child process talks"]


def test_json_is_accepted_before_the_command(flow, monkeypatch):
    run_instead(monkeypatch, lambda args: text_outcome({"answer": 42}, "forty-two"))

    assert flow("--json", "user", "link", "x@example.com").json == {"answer": 42}


def test_markup_in_values_is_shown_as_text(flow, monkeypatch):
    run_instead(monkeypatch, lambda args: text_outcome({}, "[bold]x[/bold] [link=http://e]y"))

    assert flow("user", "link", "x@example.com").stdout == "[bold]x[/bold] [link=http://e]y\n"


@pytest.mark.parametrize("option", ["", "--json"])
def test_a_closed_pipe_ends_the_command_quietly(option):
    script = (
        "import flowapp.cli as cli; from flowapp.cli.outcome import text_outcome; lines = ['x' * 999] * 999; "
        "cli._attempt = lambda arguments: text_outcome({'lines': lines}, *lines); "
        f"cli.main({option.split()!r})"
    )
    done = subprocess.run(f'"{sys.executable}" -c "{script}" | true', shell=True, capture_output=True, text=True)

    assert done.stderr == ""


def test_secrets_of_the_environment_are_cut_out_one_by_one(monkeypatch):
    monkeypatch.setenv("FLOW_ENCRYPTION_KEYS", "first-key,second-key")
    monkeypatch.setenv("FLOW_CHANNEL_SECRET", "signing-secret")

    assert without_secrets("a first-key b second-key c signing-secret") == "a … b … c …"
