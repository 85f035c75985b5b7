"""Password guessing: how many guesses are checked, and which users they lock out."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from flowapp.accounts.clients import network_of
from flowapp.accounts.models import FailedAttempts, KnownNetwork
from flowapp.accounts.services import make_login_link, set_password
from flowapp.accounts.throttle import MOST_FAILURES

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"
MANY = 20
HERE, THERE = "192.0.2.1", "198.51.100.7"


@pytest.fixture(autouse=True)
def low_limits(monkeypatch):
    for name in ("MOST_FAILURES_OF_A_NETWORK", "MOST_FAILURES_FROM_ELSEWHERE"):
        monkeypatch.setattr(f"flowapp.accounts.throttle.{name}", MANY)


@pytest.fixture
def alice(person):
    alice = person("admin")
    set_password(alice, PASSWORD)
    return alice


def sign_in(email: str, password: str = PASSWORD, *, address: str = HERE, browser: Client | None = None) -> bool:
    client = browser or Client()
    return client.post("/login/", {"email": email, "password": password}, REMOTE_ADDR=address).status_code == 302


def guess(email: str, times: int, *, address: str = HERE, browser: Client | None = None) -> None:
    for _ in range(times):
        sign_in(email, "wrong", address=address, browser=browser)


def networks(count: int) -> list[str]:
    return [f"203.0.113.{number}" for number in range(1, count + 1)]


def test_guessing_is_stopped_even_where_the_last_guess_is_right(alice):
    guess(alice.email, MOST_FAILURES)
    answer = Client().post("/login/", {"email": alice.email, "password": PASSWORD}, REMOTE_ADDR=HERE)

    assert answer.status_code == 422
    assert "Too many wrong passwords" in answer.content.decode()


def test_the_last_guess_within_the_limit_may_be_right(alice):
    guess(alice.email, MOST_FAILURES - 1)

    assert sign_in(alice.email)


def test_a_right_password_forgets_earlier_slips(alice):
    guess(alice.email, MOST_FAILURES - 1)
    sign_in(alice.email)
    guess(alice.email, MOST_FAILURES - 1)

    assert sign_in(alice.email)


def test_guessing_restarts_after_a_pause(alice):
    guess(alice.email, MOST_FAILURES)
    FailedAttempts.objects.update(until=timezone.now() - timedelta(seconds=1))

    assert sign_in(alice.email)


def test_guesses_during_a_pause_do_not_lengthen_it(alice):
    guess(alice.email, MOST_FAILURES)
    until = sorted(FailedAttempts.objects.values_list("until", flat=True))
    guess(alice.email, 3)

    assert sorted(FailedAttempts.objects.values_list("until", flat=True)) == until


def test_wrong_passwords_from_elsewhere_do_not_lock_this_network(alice):
    guess(alice.email, MOST_FAILURES, address=THERE)

    assert not sign_in(alice.email, address=THERE)
    assert sign_in(alice.email, address=HERE)


def test_guessing_in_the_network_of_a_person_does_not_lock_out_their_browser(alice):
    browser = Client()
    sign_in(alice.email, browser=browser)
    browser.post("/logout/")
    guess(alice.email, MOST_FAILURES)

    assert not sign_in(alice.email)
    assert sign_in(alice.email, browser=browser)


def test_a_known_browser_has_no_more_guesses_than_others(alice):
    browser = Client()
    sign_in(alice.email, browser=browser)
    guess(alice.email, MOST_FAILURES, browser=browser)

    assert not sign_in(alice.email, browser=browser)


def test_a_browser_that_a_link_has_signed_in_is_known(alice):
    browser = Client()
    browser.post(urlsplit(make_login_link(alice.email)[0]).path, REMOTE_ADDR=HERE)
    set_password(type(alice).objects.get(pk=alice.pk), PASSWORD)
    browser.post(urlsplit(make_login_link(alice.email)[0]).path, REMOTE_ADDR=HERE)
    guess(alice.email, MOST_FAILURES)

    assert sign_in(alice.email, browser=browser)


def test_a_browser_is_known_for_one_person_only(alice, person):
    browser, viewer = Client(), person("viewer")
    sign_in(alice.email, browser=browser)
    guess(viewer.email, MOST_FAILURES)
    set_password(viewer, PASSWORD)

    assert not sign_in(viewer.email, browser=browser)


def test_a_browser_is_strange_again_once_the_password_has_changed(alice):
    browser = Client()
    sign_in(alice.email, browser=browser)
    set_password(alice, "another long one")
    guess(alice.email, MOST_FAILURES)

    assert not sign_in(alice.email, "another long one", browser=browser)


def test_a_forged_cookie_makes_no_browser_known(alice):
    browser = Client()
    browser.cookies["flow_browser"] = "W10:1:forged"
    guess(alice.email, MOST_FAILURES, browser=browser)

    assert not sign_in(alice.email, browser=browser)


def test_guessing_from_many_networks_ends_at_a_limit(alice):
    for address in networks(MANY // MOST_FAILURES):
        guess(alice.email, MOST_FAILURES, address=address)

    assert not sign_in(alice.email, address=THERE)


def test_guessing_from_many_networks_does_not_lock_out_where_the_person_has_been(alice):
    sign_in(alice.email, address=HERE)
    for address in networks(MANY // MOST_FAILURES):
        guess(alice.email, MOST_FAILURES, address=address)

    assert sign_in(alice.email, address=HERE)


def test_guessing_at_many_people_from_one_network_ends_at_a_limit(alice):
    for number in range(MANY // MOST_FAILURES):
        guess(f"nobody-{number}@example.com", MOST_FAILURES)

    assert not sign_in(alice.email)
    assert sign_in(alice.email, address=THERE)


def test_wrong_passwords_for_many_accounts_do_not_lock_known_networks(alice):
    sign_in(alice.email)
    for number in range(MANY // MOST_FAILURES):
        guess(f"nobody-{number}@example.com", MOST_FAILURES)

    assert sign_in(alice.email)


def test_signing_in_does_not_give_the_others_of_a_network_more_guesses(alice, person):
    """Otherwise every user could guess the passwords of all others without limit."""
    guess("nobody@example.com", 3)
    before = sorted(FailedAttempts.objects.values_list("count", flat=True))
    sign_in(alice.email)

    assert sorted(FailedAttempts.objects.exclude(count=0).values_list("count", flat=True)) == before


def test_stored_counts_name_no_user(alice):
    sign_in(alice.email, "wrong")
    sign_in(alice.email)
    stored = [
        *FailedAttempts.objects.values_list("key", flat=True),
        *KnownNetwork.objects.values_list("network", flat=True),
    ]

    assert len(stored) == 4
    assert all(len(key) == 64 for key in stored)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("unix", "unix"),
    ],
)
def test_addresses_that_one_sender_has_are_one_network(address, network):
    assert network_of(address) == network
