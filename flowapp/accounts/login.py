"""Sign in by a one-time link or a password, sign out, and set a password."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from flowapp.accounts.access import signed_in
from flowapp.accounts.clients import client_of, remember_client
from flowapp.accounts.errors import AccountError
from flowapp.accounts.forms import NewPassword, PasswordLogin
from flowapp.accounts.models import EndedCredentials, User
from flowapp.accounts.services import set_password, use_login_link
from flowapp.accounts.sole_control import see_ended_credentials
from flowapp.accounts.throttle import TooManyFailures, count_guess, forgive_guess
from flowapp.web.htmx import HtmxRequest, render_page

BACKEND = "django.contrib.auth.backends.ModelBackend"


@never_cache
@require_http_methods(["GET", "POST"])
def link_login(request: HtmxRequest, key: str) -> HttpResponse:
    """Show a button on GET and sign in on POST, because mail scanners open links and must not use them up."""
    if request.method == "GET":
        return render_page(request, "accounts/link.html", {})
    try:
        user = use_login_link(key)
    except AccountError as error:
        return render_page(request, "accounts/link.html", {"error": error}, status=403)
    return _sign_in(request, user, "start")


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def password_login(request: HtmxRequest) -> HttpResponse:
    """Sign in with a password. The error message is the same for a wrong password and an unknown user."""
    form = PasswordLogin(request.POST or None)
    target = _safe_target(request)
    if form.is_valid():
        try:
            user = _check_password(request, form.cleaned_data["email"], form.cleaned_data["password"])
        except TooManyFailures as error:
            form.add_error(None, f"{error.message} {error.hint}")
        else:
            if user is not None:
                return _sign_in(request, user, target)
            form.add_error(None, "Wrong email address or password.")
    status = 422 if form.errors else 200
    return render_page(request, "accounts/login.html", {"form": form, "next": target}, status=status)


def _check_password(request: HtmxRequest, email: str, password: str) -> User | None:
    email = email.strip().lower()
    client = client_of(request, email)
    count_guess(client)
    user = authenticate(request, username=email, password=password)
    if user is not None:
        forgive_guess(client)
    return user


def _sign_in(request: HtmxRequest, user: User, target: str) -> HttpResponse:
    login(request, user, backend=BACKEND)
    for ended in see_ended_credentials(user):
        messages.warning(request, _why_ended(ended))
    response = redirect(target)
    remember_client(request, response, user)
    return response


def _why_ended(ended: EndedCredentials) -> str:
    because = (
        f"you were added to workspace {ended.joined}"
        if ended.joined
        else "you signed in with a link made on the server"
    )
    return (
        f"Other people may have had access to your account. On {ended.at:%Y-%m-%d}, when {because}, Flow ended "
        f"{ended}. "
        "If you had a password, set a new one."
    )


def _safe_target(request: HtmxRequest) -> str:
    """Return `next` if it is a page of this site, else the start page."""
    wanted = request.POST.get("next") or request.GET.get("next") or "/"
    is_own = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if is_own else "/"


@require_POST
def log_out(request: HtmxRequest) -> HttpResponse:
    logout(request)
    messages.success(request, "Signed out.")
    return redirect("accounts:login")


@never_cache
@sensitive_post_parameters("password", "again")
@require_http_methods(["GET", "POST"])
@signed_in
def password(request: HtmxRequest) -> HttpResponse:
    """Set a password. All other sessions of the user end; this one continues."""
    form = NewPassword(request.user, request.POST or None)
    if form.is_valid():
        set_password(request.user, form.cleaned_data["password"])
        update_session_auth_hash(request, request.user)
        messages.success(request, "Password set.")
        response = redirect("start")
        remember_client(request, response, request.user)
        return response
    return render_page(request, "accounts/password.html", {"form": form}, status=422 if form.errors else 200)
