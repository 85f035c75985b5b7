"""Cursor paging of the API's lists."""

from __future__ import annotations

from rest_framework.pagination import CursorPagination


class FlowCursorPagination(CursorPagination):
    """`{"next", "previous", "results"}`; `?limit=` sets the size of a page. A list's `ordering` must fit an index."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 500
    ordering = ("-created_at", "id")
