"""Everything that is declared in one place is also declared in the others."""

from __future__ import annotations

import importlib
import pkgutil
from typing import get_args

import pytest

import ir
import ir.load_modes
from ir.checks import CHECKS, DatasetLevel
from ir.codes import CODES
from ir.connectors import CONNECTORS, TARGET_CONNECTORS
from ir.formats import FORMATS
from ir.hooks import HOOKS
from ir.kinds import KindTable
from ir.load_modes import LOAD_MODES, MODE_FIELDS
from ir.nodes import NODES
from ir.nodes.target import LoadModeName, Target
from ir.not_yet import NOT_YET
from ir.ops import OPS
from ir.rules import RULES
from tests.ir.cases import FOLDER, document, list_cases

FAMILIES: dict[str, KindTable] = {
    "load mode": LOAD_MODES,
    "hook": HOOKS,
    "op": OPS,
    "source connector": CONNECTORS,
    "format": FORMATS,
    "check": CHECKS,
}
# No case file has these codes: `test_documents` and `test_costs` build the documents.
MADE = {"document.too_large", "document.too_many_faults", "document.too_costly"}
# While every kind runs, no document has this one.
UNUSED = set() if NOT_YET else {"kind.not_available"}


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_case(code):
    shown = {d["code"] for kind in ("valid", "invalid") for case in list_cases(kind) for d in case.expected}
    assert code in shown | MADE | UNUSED


@pytest.mark.parametrize("case", list_cases("invalid"), ids=lambda case: case.name)
def test_every_case_shows_the_code_that_it_is_named_after(case):
    assert case.code == "several" or case.code in {d["code"] for d in case.expected}


@pytest.mark.parametrize(("family", "name"), [kind for kind in NOT_YET if kind[0] != "target field"])
def test_what_is_not_available_is_a_known_kind(family, name):
    assert name in FAMILIES[family]


def test_what_is_not_available_is_named_once():
    assert len(set(NOT_YET)) == len(NOT_YET)


def test_every_kind_that_runs_is_in_a_valid_document():
    text = "".join(case.text.decode() for case in list_cases("valid") if case.syntax == "json")
    tables = [*FAMILIES.items(), ("node", NODES), ("row rule", RULES), ("target connector", TARGET_CONNECTORS)]
    stopped = {*NOT_YET, *(("load mode", mode.name) for mode in LOAD_MODES.values() if mode.follows_stream)}
    runs = [name for family, table in tables for name in table if (family, name) not in stopped]
    assert [name for name in runs if f'"{name}"' not in text] == []


@pytest.mark.parametrize(("family", "name"), NOT_YET)
def test_every_kind_that_does_not_run_has_a_case_that_refuses_it(family, name):
    refused = [case for case in list_cases("invalid") if "kind.not_available" in {d["code"] for d in case.expected}]
    assert any(f'"{name}"'.encode() in case.text for case in refused)


def test_load_modes_of_the_type_are_those_of_the_table():
    assert set(get_args(LoadModeName)) == set(LOAD_MODES)


def test_each_load_mode_has_a_file_of_its_own():
    files = {module.name for module in pkgutil.iter_modules(ir.load_modes.__path__)} - {"base"}
    assert files == set(LOAD_MODES)


@pytest.mark.parametrize("mode", LOAD_MODES.values(), ids=lambda mode: mode.name)
def test_a_load_mode_says_what_it_is_in_words(mode):
    assert mode.sentence.endswith(".")
    assert mode.runs
    assert mode.needs.endswith(".")
    assert mode.replaces_all_rows == ("Files of a folder are loaded all together" in mode.sentence)


def test_fields_of_load_modes_are_fields_of_targets():
    assert set(Target.model_fields) >= MODE_FIELDS


@pytest.mark.parametrize("kind", [*RULES.values(), *CHECKS.values(), *OPS.values()], ids=lambda kind: kind.__name__)
def test_a_kind_says_in_its_first_line_what_it_is(kind):
    assert kind.__doc__.partition("\n")[0].endswith((".", "`."))


@pytest.mark.parametrize("kind", [*RULES, *CHECKS])
def test_a_rule_or_check_is_documented(kind):
    assert f"| `{kind}" in (FOLDER.parents[2] / "docs/reference/rules.md").read_text()


@pytest.mark.parametrize("kind", CHECKS)
def test_a_check_reports_its_sql(kind):
    level = next(node for node in document("every-check")["nodes"] if node["kind"] == "validate")["datasetLevel"]
    checks = [check for name, check in DatasetLevel.read(level).checks() if name == kind]
    assert all(check.outline for check in checks)
    assert checks


def test_dataset_checks_of_the_type_are_those_of_the_table():
    assert {field.alias for field in DatasetLevel.model_fields.values()} == set(CHECKS)


@pytest.mark.parametrize("module", [m.name for m in pkgutil.walk_packages(ir.__path__, "ir.")])
def test_each_module_can_be_imported_and_says_what_it_holds(module):
    assert importlib.import_module(module).__doc__


def test_a_table_refuses_two_kinds_of_one_name():
    with pytest.raises(ValueError, match="two kinds 'a' of thing"):
        KindTable("thing", [("a", 1), ("a", 2)])


def test_a_miss_lists_what_is_known():
    with pytest.raises(KeyError, match=r"no thing 'c'; known are a, b"):
        KindTable("thing", [("a", 1), ("b", 2)])["c"]
