"""JSON answers."""

from __future__ import annotations

from typing import Any

from rest_framework.renderers import JSONRenderer


class AnyTextRenderer(JSONRenderer):
    """Plain UTF-8, and escapes where a message repeats an incomplete surrogate pair, which UTF-8 has no bytes for."""

    def render(self, data: Any, *args: Any, **kwargs: Any) -> bytes:
        try:
            return super().render(data, *args, **kwargs)
        except UnicodeEncodeError:
            return _Escaping().render(data, *args, **kwargs)


class _Escaping(JSONRenderer):
    ensure_ascii = True
