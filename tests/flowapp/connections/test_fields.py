"""Parsing of connection URLs; errors never repeat the URL."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from flowapp.connections.fields import InvalidConnection, parse_connection_url

PASSWORD = "P@ss:w/rd%?"


def test_every_part_of_a_url_becomes_a_field():
    fields = parse_connection_url("postgresql://etl:pw@db.example:6543/sales?sslmode=verify-full")

    assert (fields.kind, fields.host, fields.port, fields.database, fields.user, fields.password, fields.sslmode) == (
        "postgres",
        "db.example",
        6543,
        "sales",
        "etl",
        "pw",
        "verify-full",
    )


def test_port_password_and_sslmode_have_defaults():
    fields = parse_connection_url("postgres://etl@db/sales")

    assert (fields.port, fields.password, fields.sslmode) == (5432, "", "prefer")


def test_escapes_are_decoded_once_in_user_password_and_database():
    fields = parse_connection_url(f"postgresql://{quote('e@l', safe='')}:{quote(PASSWORD, safe='')}@db/My%20%2541")

    assert (fields.user, fields.password, fields.database) == ("e@l", PASSWORD, "My %41")


def test_a_plus_sign_in_a_password_stays_a_plus_sign():
    assert parse_connection_url("postgresql://etl:a+b@db/sales").password == "a+b"


def test_ipv6_addresses_are_read():
    assert parse_connection_url("postgresql://etl@[::1]:5433/sales").host == "::1"


@pytest.mark.parametrize(
    "option",
    [
        "options=-csearch_path%3Dx",
        "host=other",
        "passfile=/etc/passwd",
        "service=x",
        "sslmode=require&sslmode=disable",
        "application_name=",
    ],
)
def test_options_other_than_sslmode_are_refused(option):
    with pytest.raises(InvalidConnection) as caught:
        parse_connection_url(f"postgresql://etl@db/sales?{option}")

    assert caught.value.code == "connection.option_refused"


def test_an_unknown_sslmode_lists_the_known_ones():
    with pytest.raises(InvalidConnection) as caught:
        parse_connection_url("postgresql://etl@db/sales?sslmode=maybe")

    assert "verify-full" in caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "mysql://etl@db/sales",
        "db/sales",
        "postgresql://db/sales",
        "postgresql://etl@/sales",
        "postgresql://etl@db",
        "postgresql://etl@db/",
        "postgresql://etl@db/sales/other",
        "postgresql://etl@db1,db2/sales",
        "postgresql://etl@%2Frun%2Fpostgresql/sales",
        "postgresql://etl@db:0/sales",
        "postgresql://etl@db:99999/sales",
        "postgresql://etl@db/sales#part",
        "postgresql://etl:%FF@db/sales",
        "postgresql://etl:%00@db/sales",
    ],
)
def test_what_is_no_single_database_is_refused(url):
    with pytest.raises(InvalidConnection) as caught:
        parse_connection_url(url)

    assert caught.value.code == "connection.url_invalid"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://etl:{PASSWORD}@db/sales",
        "postgresql://etl:s3cr#et@db/sales",
        "postgresql://etl:s3cr/et@db/sales",
        "postgresql://etl:s3cr[et@db/sales",
        "postgresql://etl:s3cr%et@db/sales",
        "postgresql://etl:s3cr@et@db/sales",
    ],
)
def test_a_password_that_is_not_encoded_is_refused_and_never_repeated(url):
    with pytest.raises(InvalidConnection) as caught:
        parse_connection_url(url)

    reported = f"{caught.value} {caught.value.hint} {caught.value.__cause__} {caught.value.__context__ or ''}"
    assert "percent-encoded" in reported
    assert not any(part in reported for part in (PASSWORD, "P@ss", "w/rd", "s3cr"))


def test_the_password_is_excluded_of_repr():
    assert "s3cret" not in repr(parse_connection_url("postgresql://etl:s3cret@db/sales"))
