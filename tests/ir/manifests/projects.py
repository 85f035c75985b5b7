"""A small project, and hypothesis strategies for manifests in the short form."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.ir.documents_of import ids, objects, ops, schedules, source_columns

FLOW_TOML = """\
# The warehouse of the shop.
[project]
name = "shop"
version = "1.0.0"

[connections.warehouse]
kind = "postgres"
host = "db.example.com"
database = "warehouse"
user = "loader"
password = { env = "WAREHOUSE_PASSWORD" }

[connections.shop]
kind = "postgres"
host = "shop.example.com"
database = "shop"
user = "reader"
password = { env = "SHOP_PASSWORD" }

[defaults.destination]
connection = "warehouse"

[[pipeline]]
id = "shop"
source = { connector = "postgres", connection = "shop", config = { schema = "sales" } }
tables = ["orders", "customers"] # each becomes a pipeline
incremental = "updated_at"
schedule = "every 15m"
"""

tables = st.lists(st.from_regex(r"[a-z]{1,9}", fullmatch=True), min_size=1, max_size=3, unique=True)


@st.composite
def short_manifests(draw: st.DrawFn) -> dict[str, Any]:
    """A valid manifest in the short form, with or without tables."""
    source = {"connector": "postgres", "connection": draw(ids)} | draw(objects({}, {"columns": source_columns}))
    destination = {"connection": draw(ids)} | draw(objects({}, {"schema": st.just("mart")}))
    rest = draw(
        objects(
            {},
            {
                "metadata": objects({}, {"tags": st.lists(ids)}),
                "schedule": st.sampled_from(["every 15m", "0 6 * * 1-5"]) | schedules,
                "transforms": st.lists(ops, min_size=1, max_size=2),
            },
        )
    )
    if draw(st.booleans()):
        return {"id": draw(ids), "source": source, "tables": draw(tables), "destination": destination, **rest}
    whole = {**source, "config": {"query": "select 1 as a"}}
    return {"id": draw(ids), "source": whole, "destination": {**destination, "table": "t"}, **rest}
