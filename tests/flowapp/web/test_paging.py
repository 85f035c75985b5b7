"""Pages of a list: every row once, forwards and backwards, whatever is added meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest

from flowapp.accounts.models import User
from flowapp.web.paging import take_page

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ORDER = ("-created_at", "id")


@pytest.fixture
def users():
    """Seven, of which some were made in the same microsecond."""
    users = User.objects.bulk_create(User(email=f"u{n}@example.com") for n in range(7))
    for number, user in enumerate(users):
        User.objects.filter(pk=user.pk).update(created_at=NOON + timedelta(microseconds=number // 3))
    return User.objects.all()


def expected(users):
    return list(users.order_by(*ORDER))


def walk(users, step: str, cursor: str = ""):
    pages = []
    while True:
        page = take_page(users, cursor, ORDER, size=2)
        pages.append(list(page.rows))
        cursor = getattr(page, step)
        if not cursor:
            return pages, page


def test_forwards_every_row_comes_once_and_in_order(users):
    pages, _ = walk(users, "next")

    assert [len(page) for page in pages] == [2, 2, 2, 1]
    assert list(chain(*pages)) == expected(users)


def test_backwards_the_same_rows_come_again(users):
    _, last = walk(users, "next")
    pages, first = walk(users, "previous", last.previous)

    assert list(chain(*reversed(pages))) == expected(users)[:-1]
    assert list(first.rows) == expected(users)[:2]


def test_a_row_added_at_the_top_moves_nothing_further_down(users):
    first = take_page(users, "", ORDER, size=2)
    before = take_page(users, first.next, ORDER, size=2)
    User.objects.create_user("new@example.com")

    assert list(take_page(users, first.next, ORDER, size=2).rows) == list(before.rows)


@pytest.mark.parametrize("cursor", ["x", "%%%", "W10", "WyJmIl0", "WyJmIiwgMSwgMl0", "é"])
def test_a_cursor_that_makes_no_sense_gives_the_first_page(users, cursor):
    page = take_page(users, cursor, ORDER, size=2)

    assert list(page.rows) == expected(users)[:2]
    assert not page.previous


def test_an_empty_list_has_no_neighbours(db):
    page = take_page(User.objects.all(), "", ORDER)

    assert (list(page.rows), page.previous, page.next) == ([], "", "")


def test_a_page_takes_one_query(users, django_assert_num_queries):
    cursor = take_page(users, "", ORDER, size=2).next
    with django_assert_num_queries(1):
        take_page(users, cursor, ORDER, size=2)
