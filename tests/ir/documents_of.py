"""Hypothesis strategies for valid pipeline documents, and for arbitrary JSON values."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from ir.limits import MAX_SAFE_INTEGER
from ir.types import SIMPLE_TYPES

ids = st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True)
texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)
columns = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda name: not name.startswith("_flow_")
)
types = st.sampled_from([*SIMPLE_TYPES, "decimal(12,2)", "pg:inet"])
numbers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | st.floats(allow_nan=False, allow_infinity=False)
positive = st.integers(1, 1000) | st.floats(0.001, 1000)
json_values = st.recursive(
    st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def objects(required: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional or {})


def _distinct(strategy: st.SearchStrategy[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(strategy, min_size=least, max_size=4, unique=True)


formats = st.one_of(
    objects(
        {"type": st.sampled_from(["csv", "tsv"])},
        {
            "header": st.booleans(),
            "delimiter": st.sampled_from([";", "|", "ß"]),
            "quote": st.sampled_from(["'", '"']),
            "encoding": st.sampled_from(["utf-8", "UTF-16", "latin-1"]),
            "nullValues": st.lists(texts, max_size=2),
            "onBadRow": st.sampled_from(["reject", "abort"]),
        },
    ),
    objects({"type": st.sampled_from(["json", "jsonl"])}, {"onBadRow": st.sampled_from(["reject", "abort"])}),
    objects(
        {
            "type": st.just("fixed_width"),
            "columns": st.just([{"name": "a", "width": 3}, {"name": "b", "width": 2, "start": 10}]),
        },
        {"skipLines": st.integers(0, 3), "trim": st.booleans(), "encoding": st.just("cp1252")},
    ),
    objects(
        {"type": st.just("xlsx")},
        {"sheet": st.just("Sales"), "range": st.sampled_from(["B3", "A1:XFD1048576"]), "header": st.booleans()},
    ),
    objects({"type": st.sampled_from(["parquet", "avro", "orc"])}),
    objects(
        {"type": st.just("xml"), "recordPath": st.sampled_from(["orders/order", "/*/order", "übung"])},
        {"repeated": _distinct(st.sampled_from(["line", "note"]))},
    ),
)
patterns = st.one_of(
    objects({"type": st.just("glob"), "value": st.sampled_from(["*.csv", "a[1-3]?.csv", "_h.csv"])}),
    objects({"type": st.just("regex"), "value": st.sampled_from(["^a+$", r"\d{4}\.csv"])}),
    objects(
        {"type": st.just("date_template"), "value": st.just("{YYYYMMDD}*.csv")},
        {"timezone": st.sampled_from(["UTC", "Europe/Berlin"])},
    ),
)
configs = objects(
    {"path": st.sampled_from(["", "in", "in/2025/"]), "pattern": patterns, "format": formats},
    {
        "ordering": st.sampled_from(["latest_by_mtime", "fifo_by_name", "lexicographic", "process_all"]),
        "waitPolicy": objects(
            {},
            {
                "maxRetries": st.integers(0, 1000),
                "intervalMinutes": positive,
                "settleSeconds": positive,
                "onMissAction": st.sampled_from(["alert", "skip", "fail"]),
            },
        ),
    },
)
tables = objects(
    {"connector": st.just("postgres"), "connection": ids},
    {},
).flatmap(
    lambda node: st.sampled_from(
        [{"table": {"schema": "public", "name": "Orders 2025"}}, {"query": "select a, now() as b from s.t"}]
    ).map(lambda config: {**node, "config": config})
)
streams = objects(
    {
        "connector": st.just("singer"),
        "config": objects(
            {"tap": ids, "stream": columns, "keepState": st.just(False)},
            {
                "settings": st.dictionaries(st.sampled_from(["start_date", "page size", "ü"]), json_values, max_size=2),
                "fields": _distinct(columns),
                "replication": objects({"method": st.just("incremental")}, {"key": columns}),
                "useCatalog": st.just(True),
            },
        ),
    },
    {"connection": ids},
)
source_columns = st.lists(
    objects({"name": columns, "type": types}, {"nullable": st.booleans()}),
    max_size=4,
    unique_by=lambda column: column["name"],
)
added = ids.map(lambda name: f"added {name}")
ops = st.one_of(
    objects(
        {
            "op": st.just("custom"),
            "module": st.just("check@sha256:" + "0f" * 32),
            "fields": _distinct(columns),
            "columns": st.lists(
                objects({"name": added, "type": types}), min_size=1, max_size=2, unique_by=lambda one: one["name"]
            ),
        },
        {"config": st.just({"a": [1]})},
    ),
    objects({"op": st.just("trim"), "columns": _distinct(columns)}),
    objects({"op": st.just("cast"), "columns": st.dictionaries(columns, types, min_size=1, max_size=3)}),
    objects(
        {
            "op": st.just("fillNull"),
            "columns": st.dictionaries(columns, texts | numbers | st.booleans(), min_size=1, max_size=3),
        }
    ),
    objects({"op": st.just("filter"), "where": st.sampled_from(["1 = 1", "length('x') > 0"])}),
    objects(
        {
            "op": st.just("regexExtract"),
            "field": columns,
            "pattern": st.sampled_from(["(a+)", "x(y)?"]),
            "as": columns,
            "onNoMatch": st.sampled_from(["null", "reject"]),
        },
        {"group": st.integers(0, 1)},
    ),
    objects(
        {
            "op": st.just("jsonPath"),
            "field": columns,
            "path": st.sampled_from(["$", "$.a[0]", "$['b c'][-1]"]),
            "as": columns,
            "type": types,
            "onMissing": st.sampled_from(["null", "reject"]),
        }
    ),
    objects(
        {
            "op": st.just("flatten"),
            "field": columns,
            "columns": st.dictionaries(st.sampled_from(["$.a", "$['b c'].d"]), types, min_size=1),
            "onMissing": st.sampled_from(["null", "reject"]),
            "onUnknown": st.sampled_from(["ignore", "reject"]),
            "prefix": ids.map(lambda name: f"flat {name} "),
        }
    ),
    objects(
        {
            "op": st.just("window"),
            "orderBy": st.lists(
                objects({"column": columns}, {"direction": st.sampled_from(["ascending", "descending"])}),
                min_size=1,
                max_size=2,
                unique_by=lambda by: by["column"],
            ),
            "columns": st.lists(
                objects(
                    {"as": ids.map(lambda name: f"window {name}"), "function": st.sampled_from(["rowNumber", "rank"])}
                )
                | objects(
                    {
                        "as": added,
                        "function": st.sampled_from(["lag", "lead"]),
                        "column": columns,
                    },
                    {"offset": st.integers(1, 9)},
                ),
                min_size=1,
                max_size=2,
                unique_by=lambda function: function["as"],
            ),
        },
        {"partitionBy": _distinct(columns)},
    ),
    objects({"op": st.just("derive"), "columns": st.dictionaries(columns, st.just("1 + 1"), min_size=1, max_size=3)}),
)
on_fail = st.sampled_from(["abort", "warn", "skip"])
rules = st.one_of(
    objects({"type": st.just("notNull"), "field": columns, "onFail": on_fail}),
    objects({"type": st.just("regex"), "field": columns, "onFail": on_fail, "pattern": st.just("^a*$")}),
    objects({"type": st.just("maxLength"), "field": columns, "onFail": on_fail, "max": st.integers(0, 10_000)}),
    objects({"type": st.just("range"), "field": columns, "onFail": on_fail, "min": numbers | st.just("2025-01-31")}),
    objects({"type": st.just("fieldType"), "field": columns, "onFail": on_fail, "expected": st.just("uuid")}),
    objects({"type": st.just("minLength"), "field": columns, "onFail": on_fail, "min": st.integers(1, 9)}),
    objects({"type": st.sampled_from(["email", "url", "notInFuture"]), "field": columns, "onFail": on_fail}),
    objects(
        {
            "type": st.sampled_from(["oneOf", "notOneOf"]),
            "field": columns,
            "onFail": on_fail,
            "values": st.lists(texts | numbers, min_size=1, max_size=3),
        }
    ),
    objects(
        {"type": st.just("expression"), "onFail": st.sampled_from(["warn", "skip"]), "expression": st.just("1 = 1")},
        {
            "field": columns,
            "when": st.just("length('x') > 0"),
            "maxViolations": st.integers(0, 9),
            "maxViolationPct": st.floats(0, 100),
        },
    ),
    objects(
        {
            "type": st.just("jsonSchema"),
            "field": columns,
            "onFail": on_fail,
            "schema": st.sampled_from([{}, {"type": "object", "properties": {"a": {"$ref": "#"}}}]),
        }
    ),
)
dataset_level = objects(
    {},
    {
        "rowCount": objects({"min": st.integers(0, 9), "onFail": st.just("warn")})
        | st.lists(objects({"max": st.integers(0, 9), "onFail": st.just("abort")}), max_size=2),
        "fkIntegrity": objects(
            {"column": columns, "refTable": st.just("a.b"), "refColumn": columns, "onFail": st.just("warn")}
        ),
        "freshness": objects({"column": columns, "withinHours": positive, "onFail": st.just("warn")}),
        "cardinality": objects({"column": columns, "minDistinct": st.integers(0, 9), "onFail": st.just("warn")}),
        "duplicateKey": objects({"columns": _distinct(columns), "onFail": st.just("abort")}),
        "unique": objects({"column": columns, "onFail": st.just("warn")}),
        "sum": objects({"column": columns, "min": numbers, "onFail": st.just("warn")}),
        "mean": objects({"column": columns, "max": st.just("1e400"), "onFail": st.just("warn")}),
        "distinctRatio": objects({"column": columns, "min": st.floats(0, 1), "onFail": st.just("warn")}),
        "nullRate": objects({"column": columns, "max": st.sampled_from([0, 0.5, 1]), "onFail": st.just("warn")}),
        "schemaMatch": objects(
            {"columns": st.dictionaries(columns, types, min_size=1, max_size=3), "onFail": st.just("warn")},
            {"allowOthers": st.booleans()},
        ),
        "customSql": objects({"query": st.just("SELECT * FROM input"), "onFail": st.just("warn")}, {"message": texts}),
    },
)
schedule_options = {"jitter": st.sampled_from(["1s", "1m"]), "catchUp": st.sampled_from(["latest", "skip", "all"])}
schedules = objects(
    {"kind": st.just("cron"), "expression": st.sampled_from(["0 2 * * *", "*/5 8-18 * * MON-FRI"])},
    {"timezone": st.sampled_from(["UTC", "America/New_York"]), **schedule_options},
) | objects({"kind": st.just("every"), "interval": st.sampled_from(["1m", "15m", "24h", "2w"])}, schedule_options)


@st.composite
def pipelines(draw: st.DrawFn) -> dict[str, Any]:
    """A valid document: one source, any number of transforms and validate nodes, one or two targets."""
    names = draw(st.lists(ids, min_size=7, max_size=7, unique=True))
    shared = objects({}, {"name": texts, "description": texts, "ui": objects({"x": numbers, "y": numbers})})
    files = objects({"connector": st.just("local_fs"), "config": configs})
    chain = [{"kind": "source"} | draw(files | tables | streams) | draw(objects({}, {"columns": source_columns}))]
    if draw(st.booleans()):
        several = st.lists(ops, min_size=1, max_size=3, unique_by=_adds)
        chain.append({"kind": "transform", "ops": draw(several)})
    if draw(st.booleans()):
        different = st.lists(rules, max_size=3, unique_by=lambda rule: json.dumps(rule, sort_keys=True))
        chain.append({"kind": "validate"} | draw(objects({}, {"rowLevel": different, "datasetLevel": dataset_level})))
    targets = [draw(_targets(table)) for table in ("t", "u")[: draw(st.integers(1, 2))]]
    nodes: list[dict[str, Any]] = []
    joined = {}
    if chain[1:2] and chain[1]["kind"] == "transform" and draw(st.booleans()):
        nodes.append({"id": names[-1], "kind": "source", "connector": "local_fs", "config": draw(configs)})
        join = {"op": "join", "with": names[-1], "type": draw(st.sampled_from(["semi", "anti"])), "on": {"a key": "k"}}
        chain[1]["ops"] = [*chain[1]["ops"], join]
        joined[1] = [names[-1]]
    for i, node in enumerate([*chain, *targets]):
        above = names[min(i, len(chain)) - 1]
        nodes.append({"id": names[i]} | draw(shared) | node | ({"inputs": [above, *joined.get(i, ())]} if i else {}))
    head = {"kind": "pipeline", "version": "1.0", "id": draw(ids), "nodes": nodes}
    return head | draw(objects({}, {"schedule": schedules, "metadata": objects({}, {"tags": st.lists(texts)})}))


def _adds(op: dict[str, Any]) -> str:
    """Return the same for all operations that add columns: two of them could add the same ones."""
    text = json.dumps(op, sort_keys=True)
    return "adds" if op["op"] == "window" or '"added ' in text else text


hooks = st.one_of(
    objects({"type": st.just("sql"), "statement": st.sampled_from(["ANALYZE t", 'VACUUM "My Table"', "CLUSTER"])}),
    objects({"type": st.just("refresh_mat_view"), "view": st.just('a."b.c"')}, {"concurrently": st.booleans()}),
    objects({"type": st.just("webhook"), "url": st.just("https://example.com/loaded")}),
    objects({"type": st.just("webhook"), "connection": ids}, {"path": st.just("/loaded")}),
    objects(
        {"type": st.just("custom_function"), "function": st.just("flow-test.note")},
        {"args": st.dictionaries(texts, json_values, max_size=2)},
    ),
)
one_or_many_hooks = hooks | st.lists(hooks, max_size=3)


def _targets(table: str) -> st.SearchStrategy[dict[str, Any]]:
    return objects(
        {
            "kind": st.just("target"),
            "connector": st.just("postgres"),
            "connection": ids,
            "schema": st.just("public"),
            "table": st.just(table),
            "loadMode": st.sampled_from(["append", "truncate"]),
        },
        {
            "onTypeMismatch": st.sampled_from(["abort", "skip", "null"]),
            "emptyAsNull": st.booleans(),
            "failOnEmptySource": st.booleans(),
            "preHook": one_or_many_hooks,
            "postHook": one_or_many_hooks,
        },
    )
