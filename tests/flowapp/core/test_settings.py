"""Settings come from the environment alone, and production refuses to guess."""

from __future__ import annotations

import logging
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from flowapp.environment import BadSetting, database_settings, made_once, read_choice, read_flag, read_secret
from flowapp.logs import RedactSecrets, redact


def load_settings(tmp_path, code="print('ok')", **environment):
    """Import settings in a process of its own, with nothing but the given environment."""
    script = f"import django; django.setup()\nfrom django.conf import settings\n{code}"
    base = {"PATH": "/usr/bin:/bin", "DJANGO_SETTINGS_MODULE": "flowapp.settings", "FLOW_HOME": str(tmp_path)}
    return subprocess.run(
        [sys.executable, "-c", script], env=base | environment, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("missing", ["FLOW_SECRET_KEY", "FLOW_ENCRYPTION_KEYS"])
def test_production_refuses_a_missing_secret(tmp_path, missing):
    secrets = {"FLOW_SECRET_KEY": "k" * 40, "FLOW_ENCRYPTION_KEYS": Fernet.generate_key().decode()}
    del secrets[missing]
    done = load_settings(tmp_path, FLOW_ENV="production", **secrets)
    assert done.returncode != 0
    assert f"{missing} is not set" in done.stderr
    assert not list(tmp_path.iterdir())


def test_development_makes_secrets_once_for_its_owner_alone_and_hands_them_to_children(tmp_path):
    code = "import os; print(settings.SECRET_KEY, os.environ['FLOW_ENCRYPTION_KEYS'])"
    first, second = (load_settings(tmp_path, code).stdout for _ in range(2))
    assert first == second
    for path in tmp_path.glob("*.secret"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_text() in first


def test_of_many_first_starts_all_get_the_same_secret(tmp_path):
    made = iter(range(100))
    with ThreadPoolExecutor(8) as pool:
        got = set(pool.map(lambda _: made_once(tmp_path / "one.secret", lambda: str(next(made))), range(8)))
    assert len(got) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["one.secret"]


def test_the_first_key_of_a_list_signs_and_the_rest_verify(tmp_path):
    code = "print(settings.SECRET_KEY[0], settings.SECRET_KEY_FALLBACKS[0][0])"
    done = load_settings(tmp_path, code, FLOW_SECRET_KEY=f"{'a' * 40}, {'b' * 40}")
    assert done.stdout.split() == ["a", "b"]


@pytest.mark.parametrize(("name", "value"), [("FLOW_SECRET_KEY", "secretword"), ("FLOW_ENCRYPTION_KEYS", "secretword")])
def test_a_bad_secret_is_refused_without_being_repeated(tmp_path, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as refused:
        read_secret(name, tmp_path, production=False)
    assert name in str(refused.value)
    assert value not in str(refused.value)


def test_a_misspelt_flag_or_choice_is_refused_with_what_is_allowed(monkeypatch):
    monkeypatch.setenv("FLOW_STREAMING_ENABLED", "tru")
    with pytest.raises(BadSetting, match="true or false") as refused:
        read_flag("FLOW_STREAMING_ENABLED")
    assert refused.value.hint == "Use true or false."
    monkeypatch.setenv("FLOW_ENV", "prod")
    with pytest.raises(ImproperlyConfigured, match="development, production"):
        read_choice("FLOW_ENV", ("development", "production"))


def test_a_database_url_is_taken_apart():
    settings = database_settings("postgresql://us%40er:p%3Aw%2F@db.example:6543/con%20trol?sslmode=require")
    assert settings["USER"] == "us@er"
    assert settings["PASSWORD"] == "p:w/"
    assert (settings["HOST"], settings["PORT"], settings["NAME"]) == ("db.example", "6543", "con trol")
    assert settings["OPTIONS"]["sslmode"] == "require"


@pytest.mark.django_db
def test_a_process_that_is_idle_in_a_transaction_is_disconnected():
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite has no sessions to end")
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("1min",)


def test_settings_of_its_own_keep_no_database_from_letting_frozen_processes_go():
    def options(query: str) -> str:
        return database_settings(f"postgresql://db/control{query}")["OPTIONS"]["options"]

    frozen = "-c idle_in_transaction_session_timeout=60s"
    assert options("") == options("?sslmode=require") == frozen
    assert options("?options=-c%20search_path%3Dflow") == f"{frozen} -c search_path=flow"
    assert options("?options=") == ""


def test_a_socket_folder_is_part_of_the_query():
    assert database_settings("postgresql:///control?host=/run/pg")["HOST"] == "/run/pg"


@pytest.mark.parametrize(("url", "name"), [("sqlite:////tmp/a.db", "/tmp/a.db"), ("sqlite:///a.db", "a.db")])
def test_sqlite_paths_are_absolute_by_a_fourth_slash(url, name):
    assert database_settings(url)["NAME"] == name


def test_another_kind_of_database_is_refused_without_its_password():
    with pytest.raises(ImproperlyConfigured, match="mysql") as refused:
        database_settings("mysql://user:secretword@host/db")
    assert "secretword" not in str(refused.value)


def test_without_a_database_only_its_use_fails(tmp_path):
    code = "from django.db import connection\nconnection.cursor()"
    done = load_settings(tmp_path, code)
    assert "ImproperlyConfigured" in done.stderr


def test_the_web_process_does_not_load_spark(tmp_path):
    code = (
        "import sys, flowapp.asgi, flowapp.urls, flowapp.celery, flowapp.runs.services\nprint('pyspark' in sys.modules)"
    )
    done = load_settings(tmp_path, code, FLOW_DATABASE_URL="sqlite:///:memory:")
    assert done.stdout.strip() == "False", done.stderr


def test_logs_hold_neither_known_secrets_nor_passwords_of_urls(settings):
    settings.SECRET_KEY = "s3cr3t/key+"
    text = redact("key s3cr3t/key+ or s3cr3t%2Fkey%2B at postgresql://user:hunter22@host/db")
    assert text == "key *** or *** at postgresql://user:***@host/db"


def test_a_traceback_is_redacted_too(settings):
    settings.SECRET_KEY = "s3cr3t-key"
    try:
        raise ValueError("s3cr3t-key")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "broke with %s", ("s3cr3t-key",), sys.exc_info())
    RedactSecrets().filter(record)
    text = logging.Formatter().format(record)
    assert "ValueError: ***" in text
    assert "s3cr3t-key" not in text
