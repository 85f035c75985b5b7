"""The connections that a document names."""

from __future__ import annotations

import pytest

from ir.connection_references import connection_references

DOCUMENT = {
    "nodes": [
        {"id": "in", "kind": "source", "connector": "s3", "connection": "landing"},
        {"id": "check", "kind": "validate", "quarantine": {"table": "dlq.a", "connection": "audit"}},
        {
            "id": "out",
            "kind": "target",
            "connector": "delta",
            "connection": "lake",
            "preHook": {"type": "webhook", "connection": "pager"},
            "postHook": [{"type": "sql"}, {"type": "webhook", "connection": "bell"}],
        },
    ]
}


def test_nodes_hooks_and_quarantines_name_connections_of_their_kinds():
    assert [(str(at), name, kinds) for at, name, kinds in connection_references(DOCUMENT)] == [
        ("/nodes/0/connection", "landing", ("s3",)),
        ("/nodes/1/quarantine/connection", "audit", ("postgres",)),
        ("/nodes/2/connection", "lake", ("folder", "s3")),
        ("/nodes/2/preHook/connection", "pager", ("webhook",)),
        ("/nodes/2/postHook/1/connection", "bell", ("webhook",)),
    ]


@pytest.mark.parametrize("node", [{"kind": "target", "connector": "unknown"}, {"kind": "source"}, {}])
def test_the_kinds_are_empty_if_the_connector_is_unknown(node):
    (found,) = connection_references({"nodes": [node | {"connection": "a"}]})
    assert found.kinds == ()


@pytest.mark.parametrize(
    "document", [None, [], {}, {"nodes": None}, {"nodes": [None, 1]}, {"nodes": {"connection": "a"}}]
)
def test_an_invalid_document_names_none(document):
    assert list(connection_references(document)) == []


@pytest.mark.parametrize("name", [None, 1, "", ["a"]])
def test_what_is_no_name_is_left_out(name):
    assert list(connection_references({"nodes": [{"kind": "validate", "quarantine": {"connection": name}}]})) == []
