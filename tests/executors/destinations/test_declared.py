"""The document language declares of each destination what its handler can do."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import get_args

import pytest

from executors.delta.folders import _NAME as NAMES
from executors.delta.roots import _ROOTS as ROOTS
from executors.destinations import DESTINATIONS
from executors.destinations.base import Capabilities, DestinationHandler
from ir.connectors import TARGET_CONNECTORS
from ir.connectors.base import Feature

FEATURES = {field.name for field in fields(Capabilities)} - {"load_modes", "no_checks"}


@pytest.mark.parametrize("kind", TARGET_CONNECTORS["delta"].connection_kinds)
def test_delta_tables_are_in_each_kind_of_connection_that_they_can_name(kind: str) -> None:
    assert kind in ROOTS


def test_names_of_delta_tables_are_those_that_the_engine_uses_for_folders() -> None:
    assert TARGET_CONNECTORS["delta"].names == NAMES.pattern


def handler_of(connector: str) -> type[DestinationHandler]:
    module, _, name = DESTINATIONS[connector].partition(":")
    handler: type[DestinationHandler] = getattr(import_module(module), name)
    return handler


def test_features_are_the_capabilities_of_the_engine() -> None:
    assert set(get_args(Feature)) == FEATURES


def test_each_target_connector_has_a_handler() -> None:
    assert set(TARGET_CONNECTORS) <= set(DESTINATIONS)


@pytest.mark.parametrize("connector", [name for name in DESTINATIONS if name in TARGET_CONNECTORS])
def test_a_target_connector_declares_the_capabilities_of_its_handler(connector: str) -> None:
    declared, capabilities = TARGET_CONNECTORS[connector], handler_of(connector).capabilities

    assert declared.load_modes == capabilities.load_modes
    assert set(declared.lacks) == {name for name in FEATURES if not getattr(capabilities, name)}
    assert set(declared.no_checks) == capabilities.no_checks
    assert all(alternative.endswith(".") for alternative in declared.lacks.values())
