"""A followed table and its mirror, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from executors.model import Connection, RunJob
from executors.report import NodeReport, RunReport
from executors.table_name import quoted
from ir.parse import parsePipelineIR
from tests.databases import connect_to
from tests.executors.conformance.world import World, reconciles, target_of


@dataclass
class Mirror(World):
    """Runs follow the table `s` of the source; the target is the table `t`."""

    source: Connection = None  # type: ignore[assignment]

    def at_source(self, *statements: str) -> None:
        """Execute statements one after the other, each in a transaction of its own."""
        with connect_to(self.source) as connection:
            for statement in statements:
                connection.execute(statement)

    def session(self) -> psycopg.Connection[Any]:
        return connect_to(self.source)

    def confirmed(self) -> int:
        """The position up to which the source may forget its log; 0 without a slot."""
        query = "select confirmed_flush_lsn - '0/0' from pg_replication_slots where database = current_database()"
        with self.session() as connection:
            row = connection.execute(query).fetchone()
        return int(row[0]) if row else 0

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
        place = {"table": {"schema": "public", "name": "s"}, **(config or {})}
        made["nodes"][0] = {
            "id": "src",
            "kind": "source",
            "connector": "postgres_cdc",
            "connection": "source",
            "config": place,
            **(node or {}),
        }
        made["nodes"][-1].setdefault("emptyAsNull", False)
        return made

    def job(self, document: Mapping[str, Any], *arguments: Any, **more: Any) -> RunJob:
        pipeline = parsePipelineIR(dict(document), streaming=True).pipeline
        job = super().job(self.document(), *arguments, **more)
        connections = {"warehouse": self.warehouse, "source": self.source}
        return replace(job, pipeline=pipeline, connections=connections)

    def follow(self, document: Mapping[str, Any] | None = None) -> NodeReport:
        """Run once and return the counts of the target."""
        report = self.run(document or self.pipeline())
        assert reconciles(report)
        return target_of(report)

    def run_once(self, document: Mapping[str, Any] | None = None) -> RunReport:
        return self.run(document or self.pipeline())

    def difference(self, columns: str = "*", source: str = "s") -> list[Any]:
        """Return the rows that only one of both tables has, as texts."""
        if columns == "*":
            with self.session() as connection:
                described = connection.execute(f"select * from public.{source} where false").description or ()
            columns = ", ".join(quoted(column.name) for column in described)
        theirs = self._texts(self.session(), f"public.{source}", columns)
        ours = self._texts(self.connect(), "t", columns)
        return sorted(theirs.symmetric_difference(ours))

    def _texts(self, connection: psycopg.Connection[Any], table: str, columns: str) -> set[str]:
        with connection:
            connection.execute("set timezone = 'UTC'")
            rows = connection.execute(f"select (r.*)::text from (select {columns} from {table}) as r").fetchall()
        return {row for (row,) in rows}
