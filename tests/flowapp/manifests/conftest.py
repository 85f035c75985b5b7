"""A project whose tables lie in the warehouse of the tests, and short ways to plan and apply it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from executors.model import Connection

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace
    from flowapp.manifests.applying import Applied
    from flowapp.manifests.planning import Planned
    from ir.manifests.plan import PipelineChange, Plan

PASSWORD = "WAREHOUSE_PASSWORD"


@dataclass
class ProjectFiles:
    """The files of a project, and functions to plan and apply them."""

    workspace: Workspace
    schema: str
    environment: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)

    def planned(self) -> Planned:
        from flowapp.manifests.planning import make_plan, parse_project

        return make_plan(self.workspace, parse_project(self.workspace, self.files), self.environment)

    def plan(self) -> Plan:
        return self.planned().plan

    def change(self, slug: str) -> PipelineChange:
        return next(change for change in self.plan().pipelines if change.id == slug)

    def actions(self) -> dict[str, str]:
        plan = self.plan()
        return {c.name: c.action for c in plan.connections} | {c.id: c.action for c in plan.pipelines}

    def apply(self, report: Callable[[str], None] = lambda step: None, **options: Any) -> Applied:
        from flowapp.manifests.applying import Actor, Options
        from flowapp.manifests.proposals import apply_project

        return apply_project(self.planned(), self.environment, Actor(), Options(**options), report)

    def edit(self, name: str, old: str, new: str) -> None:
        assert old in self.files[name]
        self.files[name] = self.files[name].replace(old, new)


def numbers(slug: str, schema: str, **changes: Any) -> str:
    """A full document in JSON that loads files into `<schema>.<slug>`."""
    source = {
        "id": "files",
        "kind": "source",
        "connector": "local_fs",
        "config": {"path": slug, "pattern": {"type": "glob", "value": "*.csv"}, "format": {"type": "csv"}},
    }
    target = {"id": "load", "kind": "target", "inputs": ["files"], "connector": "postgres", "connection": "warehouse"}
    target |= {"schema": schema, "table": slug, "loadMode": "append", **changes}
    document = {"kind": "pipeline", "version": "1.0", "id": slug, "nodes": [source, target]}
    return json.dumps(document, indent=2) + "\n"


@pytest.fixture
def project(workspace: Workspace, warehouse: Connection, schema: str) -> ProjectFiles:
    """A connection, a short form of two tables, and a full document."""
    flow_toml = f"""\
# A project of a test.
[project]
name = "shop"

[connections.warehouse]
kind = "postgres"
host = "{warehouse.host}"
port = {warehouse.port}
database = "{warehouse.database}"
user = "{warehouse.user}"
password = {{ env = "{PASSWORD}" }}

[defaults.destination]
connection = "warehouse"
schema = "{schema}"

[[pipeline]]
id = "shop"
source = {{ connector = "postgres", connection = "warehouse", config = {{ schema = "{schema}" }} }}
tables = ["orders", "customers"] # two pipelines
schedule = "every 15m"
incremental = "id"
destination = {{ schema = "{schema}" }}
"""
    files = {"flow.toml": flow_toml, "pipelines/numbers.json": numbers("numbers", schema)}
    return ProjectFiles(workspace, schema, {PASSWORD: warehouse.password}, files)
