"""Render JSON responses."""

from __future__ import annotations

from typing import Any

from rest_framework.renderers import JSONRenderer


class AnyTextRenderer(JSONRenderer):
    """Render plain UTF-8. Lone surrogates, which UTF-8 cannot encode, are escaped."""

    def render(self, data: Any, *args: Any, **kwargs: Any) -> bytes:
        try:
            return super().render(data, *args, **kwargs)
        except UnicodeEncodeError:
            return _Escaping().render(data, *args, **kwargs)


class _Escaping(JSONRenderer):
    ensure_ascii = True
