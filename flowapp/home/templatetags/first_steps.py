"""The list of first steps, for templates of apps that cannot import this app."""

from __future__ import annotations

from typing import Any

from django import template

from flowapp.home.first_steps import list_steps

register = template.Library()


@register.inclusion_tag("home/_first_steps.html", takes_context=True)
def first_steps(context: template.Context) -> dict[str, Any]:
    """Return the first steps of the member; nothing once all are done or the member has hidden them."""
    steps = list_steps(context["request"].membership)
    return {
        "steps": steps,
        "current": next((step for step in steps if not step.is_done), None),
        "done": sum(step.is_done for step in steps),
        "workspace": context["workspace"],
        "csrf_token": context["csrf_token"],
    }
