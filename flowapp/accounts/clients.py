"""Identify where a sign-in comes from: its network, and whether the user has signed in from that network or browser
before.

A signed cookie identifies a browser. It becomes invalid when the password that was valid at its creation changes.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from flowapp.accounts.models import KnownNetwork, User
from flowapp.clock import Now, from_now

COOKIE = "flow_browser"
SALT = "flow.accounts.browser"
KNOWN_DAYS = 90
KNOWN_SECONDS = KNOWN_DAYS * 24 * 3600


@dataclass(frozen=True, slots=True)
class Client:
    """The email address that a client claims, and where the client connects from. `browser` is empty unless this user
    has signed in from that browser before."""

    email: str
    network: str
    browser: str = ""
    is_known_network: bool = False


def client_of(request: HttpRequest, email: str) -> Client:
    network = network_of(request.META.get("REMOTE_ADDR", ""))
    seen = KnownNetwork.objects.filter(user__email=email, network=secret_hash("seen", network))
    is_known = bool(network) and seen.filter(seen_at__gt=from_now(-KNOWN_SECONDS)).exists()
    return Client(email, network, _browser(request, email), is_known)


def remember_client(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Remember the client after a sign-in or a new password, so that other people's guesses do not lock the user out
    here."""
    if network := network_of(request.META.get("REMOTE_ADDR", "")):
        network = secret_hash("seen", network)
        KnownNetwork.objects.update_or_create(user=user, network=network, defaults={"seen_at": Now()})
    value = signing.dumps([str(user.pk), secrets.token_urlsafe(12), _state(user)], salt=SALT)
    response.set_cookie(
        COOKIE,
        value,
        max_age=KNOWN_SECONDS,
        path="/login/",
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def network_of(address: str) -> str:
    """Return the network that one household or machine has: an IPv4 address, or the /64 of an IPv6 address."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, IPv6Address):
        return str(ip.ipv4_mapped or ip_network((ip, 64), strict=False))
    return str(ip)


def secret_hash(*parts: str) -> str:
    """Return a keyed hash. Users' and networks' addresses are too few for a plain hash to hide them."""
    return salted_hmac("flow.accounts.throttle", "\0".join(parts), algorithm="sha256").hexdigest()


def _browser(request: HttpRequest, email: str) -> str:
    if COOKIE not in request.COOKIES:
        return ""
    try:
        user_id, browser, state = signing.loads(request.COOKIES[COOKIE], salt=SALT, max_age=KNOWN_SECONDS)
    except signing.BadSignature:
        return ""
    user = User.objects.filter(pk=user_id, email=email, is_active=True).first()
    return browser if user is not None and constant_time_compare(state, _state(user)) else ""


def _state(user: User) -> str:
    return secret_hash("password", user.password)
