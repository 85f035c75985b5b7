"""The page about the document is what the schema says."""

from __future__ import annotations

from tools.document_reference import PAGE, page


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run tools/document_reference.py"
