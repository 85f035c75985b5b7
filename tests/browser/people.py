"""Signing people in. The tests must be allowed to write to the database."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Page

from flowapp.embedded.ports import LOOPBACK
from tests.flowapp.web.conftest import SIGN_IN


def sign_in(page: Page, role: str = "admin", workspace: str = "alices-team") -> None:
    """A member of that role, at the list of pipelines, with a session made elsewhere: no page is needed for that."""
    from django.conf import settings
    from django.test import Client

    from flowapp.accounts.services import add_member, ensure_workspace

    client = Client()
    client.force_login(add_member(ensure_workspace(workspace), f"{role}@example.com", role).user, backend=SIGN_IN)
    name = settings.SESSION_COOKIE_NAME
    page.context.add_cookies(
        [{"name": name, "value": client.cookies[name].value, "domain": LOOPBACK, "path": "/", "httpOnly": True}]
    )
    page.goto(f"/w/{workspace}/pipelines/")


def sign_in_by_link(page: Page, role: str = "admin", workspace: str = "alices-team") -> None:
    """The same as people do it themselves, by a one-time link."""
    from flowapp.accounts.services import add_member, ensure_workspace, make_login_link

    member = add_member(ensure_workspace(workspace), f"{role}@example.com", role)
    page.goto(urlsplit(make_login_link(member.user.email)[0]).path)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**/w/{workspace}/pipelines/")
