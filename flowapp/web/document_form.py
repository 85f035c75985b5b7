"""The schema of the pipeline document as its forms read it."""

from __future__ import annotations

from functools import cache

from flowapp.web.field_labels import FieldLabels
from flowapp.web.schema_tree import SchemaTree
from ir.schema import schema_document


@cache
def document_tree() -> SchemaTree:
    return SchemaTree(schema_document())


@cache
def field_labels() -> FieldLabels:
    return FieldLabels(document_tree())
