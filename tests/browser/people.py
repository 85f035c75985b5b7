"""Signing people in, as they do it themselves: by a one-time link."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Page


def sign_in(page: Page, role: str = "admin", workspace: str = "alices-team") -> None:
    """A member of that role, at the list of pipelines. The test must be allowed to write to the database."""
    from flowapp.accounts.services import add_member, ensure_workspace, make_login_link

    member = add_member(ensure_workspace(workspace), f"{role}@example.com", role)
    page.goto(urlsplit(make_login_link(member.user.email)[0]).path)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"**/w/{workspace}/pipelines/")
