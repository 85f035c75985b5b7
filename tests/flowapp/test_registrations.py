"""Registries are read whole or not at all."""

from __future__ import annotations

import pytest
from django.apps import apps

from flowapp import registrations
from flowapp.processes.apps import ProcessesConfig


@pytest.fixture
def unregistered(monkeypatch: pytest.MonkeyPatch) -> ProcessesConfig:
    config = apps.get_app_config("processes")
    assert isinstance(config, ProcessesConfig)
    monkeypatch.setattr(registrations, "_registered", False)
    monkeypatch.setattr(registrations, "_registering", set())
    monkeypatch.setattr(registrations.apps, "get_app_configs", lambda: [config])
    return config


def test_a_registry_that_lacks_a_part_is_not_read(unregistered, monkeypatch):
    def fail() -> None:
        raise LookupError("no such module")

    monkeypatch.setattr(unregistered, "register", fail, raising=False)
    with pytest.raises(LookupError):
        registrations.load_registrations()
    with pytest.raises(RuntimeError, match="has not finished"):
        registrations.load_registrations()


def test_an_app_cannot_read_a_registry_while_it_registers(unregistered, monkeypatch):
    monkeypatch.setattr(unregistered, "register", registrations.load_registrations, raising=False)
    with pytest.raises(RuntimeError, match="has not finished"):
        registrations.load_registrations()
