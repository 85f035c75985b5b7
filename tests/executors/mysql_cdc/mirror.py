"""A followed table of MariaDB and its mirror, for tests of whole runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from executors.model import RunJob, StoreConnection
from executors.mysql.client import connect, database_of
from executors.report import NodeReport, RunReport
from ir.parse import parsePipelineIR
from tests.executors.conformance.world import World, reconciles, target_of


@dataclass
class Mirror(World):
    """Runs follow the table `s` of the source; the target is the table `t`."""

    source: StoreConnection = None  # type: ignore[assignment]

    def pipeline(
        self,
        *,
        ops: Sequence[Mapping[str, Any]] = (),
        rules: Sequence[Mapping[str, Any]] = (),
        config: Mapping[str, Any] | None = None,
        node: Mapping[str, Any] | None = None,
        **target: Any,
    ) -> dict[str, Any]:
        made = self.document(mode="cdc_mirror", ops=ops, rules=rules, cdcSource="src", **target)
        made["nodes"][0] = {
            "id": "src",
            "kind": "source",
            "connector": "mysql_cdc",
            "connection": "shop",
            "config": {"table": {"name": "s"}, **(config or {})},
            **(node or {}),
        }
        made["nodes"][-1].setdefault("emptyAsNull", False)
        return made

    def job(self, document: Mapping[str, Any], *arguments: Any, **more: Any) -> RunJob:
        pipeline = parsePipelineIR(dict(document), streaming=True).pipeline
        job = super().job(self.document(), *arguments, **more)
        return replace(job, pipeline=pipeline, stores={"shop": self.source})

    def follow(self, document: Mapping[str, Any] | None = None) -> NodeReport:
        """Run once and return the counts of the target."""
        report = self.run(document or self.pipeline())
        assert reconciles(report)
        return target_of(report)

    def run_once(self, document: Mapping[str, Any] | None = None) -> RunReport:
        return self.run(document or self.pipeline())

    def catch_up(self) -> None:
        while not self.run_once().nothing_new:
            pass

    def difference(self, columns: str) -> list[Any]:
        """Return the rows that only one of both tables has, as texts."""
        with connect(database_of(self.source)) as session:
            found = session.rows(f"SELECT {columns} FROM s")
        theirs = {tuple(None if value is None else value.decode() for value in row) for row in found}
        with self.connect() as connection:
            texts = ", ".join(f"({name.strip()})::text" for name in columns.split(","))
            ours = set(connection.execute(f"select {texts} from t").fetchall())
        return sorted(theirs.symmetric_difference(ours), key=repr)
