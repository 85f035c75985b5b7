"""The health endpoint of the web process in a browser."""

from __future__ import annotations

from playwright.sync_api import Page


def test_the_health_address_reports_the_state_of_every_part(page: Page) -> None:
    response = page.goto("/api/health/")
    assert response is not None
    assert response.status == 200
    document = response.json()
    assert set(document) == {"database", "broker", "workers", "scheduler", "spark"}
    assert document["database"]["status"] == "ok"
