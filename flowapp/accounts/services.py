"""Users, memberships, API tokens and one-time login links."""

from __future__ import annotations

import re
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone

from flowapp.accounts.keys import digest_of, make_key
from flowapp.accounts.models import LoginLink, Membership, Token, User, Workspace
from flowapp.accounts.roles import require_role_name
from flowapp.accounts.selectors import has_anybody_signed_in
from ir.errors import FlowError

FIRST_ADMIN = "admin@localhost"
SLUG = re.compile(r"[a-z][a-z0-9-]{0,62}")
LINK_LIFETIME = timedelta(hours=24)
LONGEST_TOKEN_DAYS = 3650


class AccountError(FlowError):
    """A user, token or link that cannot be made or used."""


def ensure_workspace(slug: str) -> Workspace:
    """The workspace of that name, made if there is none."""
    return Workspace.objects.get_or_create(slug=slug)[0]


@transaction.atomic
def make_workspace(slug: str, maker: User) -> Workspace:
    """A new workspace, whose maker is its admin. Raises AccountError."""
    if not SLUG.fullmatch(slug):
        raise AccountError(
            "workspace.name_invalid",
            f"{slug!r} cannot name a workspace.",
            hint="A name begins with a small letter and holds up to 63 small letters, digits and -.",
        )
    workspace, is_new = Workspace.objects.get_or_create(slug=slug)
    if not is_new:
        raise AccountError(
            "workspace.name_taken", f"There is a workspace {slug!r} already.", hint="Choose another name."
        )
    Membership.objects.create(workspace=workspace, user=maker, role="admin")
    return workspace


@transaction.atomic
def add_member(workspace: Workspace, email: str, role: str) -> Membership:
    """Give a person a role here. An unknown address becomes a user without a password; a member's role changes.

    Raises AccountError when the workspace would be left without an admin.
    """
    require_role_name(role)
    user, _ = User.objects.get_or_create(email=_checked_email(email), defaults={"password": _no_password()})
    membership, is_new = Membership.objects.get_or_create(workspace=workspace, user=user, defaults={"role": role})
    if not is_new and membership.role != role:
        _require_other_admin(membership)
        membership.role = role
        membership.save(update_fields=["role"])
    return membership


def make_login_link(email: str) -> tuple[str, LoginLink]:
    """A URL that signs the user in once within `LINK_LIFETIME`. It can never be shown again."""
    user = User.objects.filter(email=_checked_email(email), is_active=True).first()
    if user is None:
        raise AccountError(
            "user.unknown", f"There is no user {email}.", hint="Add the user with `flow user add EMAIL --role ROLE`."
        )
    key = make_key()
    link = LoginLink.objects.create(user=user, digest=digest_of(key), expires_at=timezone.now() + LINK_LIFETIME)
    return f"{settings.FLOW_PUBLIC_URL.rstrip('/')}/login/{key}/", link


def make_first_link(workspace: Workspace) -> str | None:
    """A login link for the workspace's first admin, until anybody has signed in; there is no default password."""
    if has_anybody_signed_in():
        return None
    admins = Membership.objects.filter(workspace=workspace, role="admin", user__is_active=True)
    admin = admins.select_related("user").order_by("pk").first() or add_member(workspace, FIRST_ADMIN, "admin")
    return make_login_link(admin.user.email)[0]


def make_member_link(admin: User, membership: Membership) -> tuple[str, LoginLink]:
    """A login link that an admin hands to a member. Raises AccountError.

    It signs in as that person, so it is refused for whoever is also in a workspace that the admin does not govern.
    """
    governed = Membership.objects.filter(user=admin, role="admin").values("workspace_id")
    if Membership.objects.filter(user=membership.user).exclude(workspace_id__in=governed).exists():
        raise AccountError(
            "login_link.not_yours",
            f"{membership.user.email} is also in a workspace of which you are no admin.",
            hint="On the server: `flow user link EMAIL`.",
        )
    return make_login_link(membership.user.email)


def use_login_link(key: str) -> User:
    """The user whom the link signs in; the link is spent by that. Of two who come at once only one gets in."""
    now = timezone.now()
    links = LoginLink.objects.filter(
        digest=digest_of(key), used_at=None, expires_at__gt=now, user__is_active=True
    )  # fmt: skip
    if not links.update(used_at=now):
        raise AccountError(
            "login_link.invalid",
            "This login link was used before, has expired or never existed.",
            hint="Ask for a new one: `flow user link EMAIL`.",
        )
    return LoginLink.objects.select_related("user").get(digest=digest_of(key)).user


def add_token(
    workspace: Workspace, name: str, role: str, *, days: int, created_by: User | None = None
) -> tuple[str, Token]:
    """A new API token and its text, which can never be shown again."""
    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        raise AccountError(
            "token.days_invalid", f"A token cannot last {days} days.", hint=f"Use 1 to {LONGEST_TOKEN_DAYS} days."
        )
    key = make_key()
    token = Token(
        workspace=workspace, name=name, role=require_role_name(role), digest=digest_of(key), created_by=created_by,
        expires_at=timezone.now() + timedelta(days=days),
    )  # fmt: skip
    try:
        with transaction.atomic():
            token.save()
    except IntegrityError:
        raise AccountError(
            "token.name_taken", f"There is a token named {name!r} already.", hint="Choose another name."
        ) from None
    return key, token


def revoke_token(token: Token) -> None:
    """Programs that use it are refused from now on."""
    token.delete()


@transaction.atomic
def remove_member(membership: Membership) -> None:
    """The person stays a user, and keeps the other workspaces. Raises AccountError for the last admin."""
    _require_other_admin(membership)
    membership.delete()


def _require_other_admin(membership: Membership) -> None:
    if membership.role != "admin":
        return
    admins = Membership.objects.filter(workspace_id=membership.workspace_id, role="admin", user__is_active=True)
    if not admins.exclude(pk=membership.pk).exists():
        raise AccountError(
            "member.last_admin",
            f"{membership.user.email} is the only admin of this workspace.",
            hint="Make somebody else an admin first.",
        )


def set_password(user: User, password: str) -> None:
    """`password` has been validated. Login links that are still unused end with it."""
    with transaction.atomic():
        user.set_password(password)
        user.save(update_fields=["password"])
        LoginLink.objects.filter(user=user, used_at=None).delete()


def _checked_email(email: str) -> str:
    normal = email.strip().lower()
    try:
        validate_email(normal)
    except ValidationError:
        raise AccountError(
            "user.email_invalid", f"{email!r} is not an e-mail address.", hint="Write it like name@example.com."
        ) from None
    return normal


def _no_password() -> str:
    unusable = User()
    unusable.set_unusable_password()
    return unusable.password
