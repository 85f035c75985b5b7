"""Cursor pagination of the API's lists."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination
from rest_framework.request import Request

from flowapp.web.paging import is_value_of


class FlowCursorPagination(CursorPagination):
    """Paginate as `{"next", "previous", "results"}`; `?limit=` sets the page size. An index must support a list's
    `ordering`."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 500
    ordering: tuple[str, ...] = ("-created_at", "id")

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        self._queryset: QuerySet[Model] = queryset
        return super().paginate_queryset(queryset, request, view)

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": address, "previous": address, "results": schema},
        }

    def decode_cursor(self, request: Request) -> Cursor | None:
        """Decode a cursor. Raises ValidationError for an invalid cursor before it reaches the database."""
        try:
            cursor = super().decode_cursor(request)
        except NotFound:
            raise no_cursor() from None
        if cursor is not None and cursor.position is not None and not self._fits(str(cursor.position)):
            raise no_cursor()
        return cursor

    def _fits(self, position: str) -> bool:
        """Return whether the position is a valid value of the first ordering column."""
        name = self.ordering[0].lstrip("-")
        annotation = self._queryset.query.annotations.get(name)
        column: Any = annotation.output_field if annotation is not None else self._queryset.model._meta.get_field(name)
        return is_value_of(column, position)


def no_cursor() -> ValidationError:
    return ValidationError("The cursor is not valid for this list. Use `next` or `previous` of a page.")
