"""Users, memberships, API tokens and one-time login links."""

from __future__ import annotations

import re
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone

from flowapp.accounts.errors import AccountError
from flowapp.accounts.holding import hold_signed_in, hold_user, hold_workspace, require_signed_in
from flowapp.accounts.keys import digest_of, make_key
from flowapp.accounts.models import LoginLink, Membership, Token, User, Workspace
from flowapp.accounts.roles import is_at_least, require_role_name
from flowapp.accounts.selectors import governs, has_anybody_signed_in
from flowapp.accounts.sole_control import (
    end_shared_credentials,
    end_tokens_in,
    give_up_sole_control,
    take_sole_control,
)

FIRST_ADMIN = "admin@localhost"
SLUG = re.compile(r"[a-z][a-z0-9-]{0,62}")
LINK_LIFETIME = timedelta(hours=24)
LONGEST_TOKEN_DAYS = 3650


def ensure_workspace(slug: str) -> Workspace:
    """Return the workspace of that name; create it if it does not exist."""
    return Workspace.objects.get_or_create(slug=slug)[0]


@transaction.atomic
def make_workspace(slug: str, maker: User) -> Membership:
    """Create a workspace with `maker` as its admin. Raises AccountError.

    As for any new member, the maker's credentials that others may know are ended, the current session included.
    """
    if not SLUG.fullmatch(slug):
        raise AccountError(
            "workspace.name_invalid",
            f"{slug!r} is not a valid name for a workspace.",
            hint="A name begins with a lower-case letter and has up to 63 lower-case letters, digits and -.",
        )
    held = hold_signed_in(maker)
    workspace, is_new = Workspace.objects.get_or_create(slug=slug)
    if not is_new:
        raise AccountError(
            "workspace.name_taken", f"There is already a workspace {slug!r}.", hint="Choose another name."
        )
    membership = Membership.objects.create(workspace=workspace, user=held, role="admin")
    membership.ended = end_shared_credentials(held, workspace)
    return membership


@transaction.atomic
def add_member(workspace: Workspace, email: str, role: str) -> Membership:
    """Give a user a role here. An unknown address becomes a user without a password; an existing member's role changes.

    `ended` of the result lists the credentials that a new member loses by joining. Raises AccountError when the
    workspace would have no admin left.
    """
    require_role_name(role)
    found, _ = User.objects.get_or_create(email=_checked_email(email), defaults={"password": _no_password()})
    user = hold_user(found.pk)
    hold_workspace(workspace.pk)
    membership, is_new = Membership.objects.get_or_create(workspace=workspace, user=user, defaults={"role": role})
    if is_new:
        membership.ended = end_shared_credentials(user, workspace)
    elif membership.role != role:
        _require_other_admin(membership)
        _drop_links_made_by(membership)
        membership.role = role
        membership.save(update_fields=["role"])
    return membership


def make_login_link(email: str) -> tuple[str, LoginLink]:
    """Return a URL that signs the user in once within `LINK_LIFETIME`. It can never be shown again.

    Only for server operators: after its use, the user alone controls the account.
    """
    user = User.objects.filter(email=_checked_email(email), is_active=True).first()
    if user is None:
        raise AccountError(
            "user.unknown", f"There is no user {email}.", hint="Add the user with `flow user add EMAIL --role ROLE`."
        )
    return _make_link(user, None)


def _make_link(user: User, made_by: User | None) -> tuple[str, LoginLink]:
    key, until = make_key(), timezone.now() + LINK_LIFETIME
    link = LoginLink.objects.create(user=user, made_by=made_by, digest=digest_of(key), expires_at=until)
    return f"{settings.FLOW_PUBLIC_URL.rstrip('/')}/login/{key}/", link


def make_first_link(workspace: Workspace) -> str | None:
    """Return a login link for the workspace's first admin, or None once anybody has signed in. There is no default
    password."""
    if has_anybody_signed_in():
        return None
    admin = _first_admin(workspace) or add_member(workspace, FIRST_ADMIN, "admin")
    return make_login_link(admin.user.email)[0]


def first_admin_address(workspace: Workspace) -> str | None:
    """Return the address of the workspace's first admin, if there is one."""
    admin = _first_admin(workspace)
    return admin.user.email if admin else None


def _first_admin(workspace: Workspace) -> Membership | None:
    admins = Membership.objects.filter(workspace=workspace, role="admin", user__is_active=True)
    return admins.select_related("user").order_by("pk").first()


@transaction.atomic
def make_member_link(admin: User, membership: Membership) -> tuple[str, LoginLink]:
    """Return a login link that an admin gives to a member. Raises AccountError.

    The link signs in as the member, so it is refused if the member also belongs to a workspace that the admin does not
    govern.
    """
    # Lock in a fixed order: two admins who make links for each other would otherwise deadlock.
    held = {pk: hold_user(pk) for pk in sorted({admin.pk, membership.user_id})}
    require_signed_in(admin, held[admin.pk])
    user = held[membership.user_id]
    if not governs(admin, user):
        raise AccountError(
            "login_link.not_yours",
            f"{user.email} is also in a workspace where you are not an admin.",
            hint="On the server: `flow user link EMAIL`.",
        )
    if not user.is_active:
        raise AccountError(
            "user.inactive", f"{user.email} is deactivated.", hint="Ask the administrator of the server."
        )
    return _make_link(user, admin)


@transaction.atomic
def use_login_link(key: str) -> User:
    """Return the user whom the link signs in and mark the link as used. Of concurrent uses only one succeeds."""
    link = LoginLink.objects.filter(digest=digest_of(key)).first()
    user = hold_user(link.user_id) if link else None
    # No join: a subquery would be evaluated before a concurrent use is visible.
    unused = LoginLink.objects.filter(digest=digest_of(key), used_at=None, expires_at__gt=timezone.now())
    if link is None or user is None or not user.is_active or not unused.update(used_at=timezone.now()):
        raise AccountError(
            "login_link.invalid",
            "This login link was used, has expired, was revoked or does not exist.",
            hint="Ask for a new one: `flow user link EMAIL`.",
        )
    _apply_control(user, link.made_by)
    return User.objects.get(pk=user.pk)


def _apply_control(user: User, maker: User | None) -> None:
    """Update who may hold credentials of the account after this sign-in. Raises AccountError."""
    if maker is None:
        take_sole_control(user)
    elif maker.pk != user.pk:
        if not governs(maker, user):
            raise AccountError(
                "login_link.maker_left",
                "The person who made this login link is no longer an admin of all your workspaces.",
                hint="Ask an admin for a new one, or on the server: `flow user link EMAIL`.",
            )
        give_up_sole_control(user)


def add_token(
    workspace: Workspace, name: str, role: str, *, days: int, created_by: User | None = None
) -> tuple[str, Token]:
    """Create an API token. Return it and its text, which can never be shown again."""
    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        raise AccountError(
            "token.days_invalid", f"A token cannot last {days} days.", hint=f"Use 1 to {LONGEST_TOKEN_DAYS} days."
        )
    key = make_key()
    token = Token(
        workspace=workspace,
        name=name,
        role=require_role_name(role),
        digest=digest_of(key),
        created_by=created_by,
        expires_at=timezone.now() + timedelta(days=days),
    )
    try:
        with transaction.atomic():
            if created_by is not None:
                _require_role(hold_signed_in(created_by), workspace, role)
            token.save()
    except IntegrityError:
        raise AccountError(
            "token.name_taken", f"There is already a token named {name!r}.", hint="Choose another name."
        ) from None
    return key, token


def revoke_token(token: Token) -> None:
    """Revoke a token. Programs that use it are refused from now on."""
    token.delete()


def _require_role(user: User, workspace: Workspace, role: str) -> None:
    mine = Membership.objects.filter(user=user, workspace=workspace).first()
    if mine is None or not is_at_least(mine.role, role):
        raise AccountError(
            "token.role_too_high",
            f"You cannot make a token with the role {role}.",
            hint="Give it your own role or a lower one.",
        )


@transaction.atomic
def remove_member(membership: Membership) -> int:
    """Remove a member; return how many of the member's tokens ended. The user and other memberships remain.

    Raises AccountError for the last admin.
    """
    hold_user(membership.user_id)
    hold_workspace(membership.workspace_id)
    current = Membership.objects.filter(pk=membership.pk).select_related("user", "workspace").first()
    if current is None:
        return 0
    _require_other_admin(current)
    _drop_links_made_by(current)
    current.delete()
    return end_tokens_in(current.workspace, current.user)


def note_opened_result(membership: Membership | None) -> None:
    """Remember that the member has opened a run that loaded rows. A token has no membership."""
    if membership is not None and membership.result_opened_at is None:
        Membership.objects.filter(pk=membership.pk).update(result_opened_at=timezone.now())


def hide_first_steps(membership: Membership) -> None:
    """Hide the list of first steps from the member."""
    Membership.objects.filter(pk=membership.pk).update(first_steps_hidden_at=timezone.now())


def _drop_links_made_by(membership: Membership) -> None:
    """Delete login links that a former admin made for others."""
    if membership.role == "admin":
        LoginLink.objects.filter(made_by=membership.user_id, used_at=None).delete()


def _require_other_admin(membership: Membership) -> None:
    """Raise AccountError if no other admin exists. Lock the workspace first, so that two admins cannot remove each
    other."""
    if membership.role != "admin":
        return
    admins = Membership.objects.filter(workspace_id=membership.workspace_id, role="admin", user__is_active=True)
    if not admins.exclude(pk=membership.pk).exists():
        raise AccountError(
            "member.last_admin",
            f"{membership.user.email} is the only admin of this workspace.",
            hint="Make another member an admin first.",
        )


@transaction.atomic
def set_password(user: User, password: str) -> None:
    """Set a password that has been validated. Unused login links end.

    Raises AccountError when the credentials of `user` have ended or changed meanwhile.
    """
    hold_signed_in(user)
    user.set_password(password)
    user.save(update_fields=["password"])
    LoginLink.objects.filter(user=user, used_at=None).delete()


def _checked_email(email: str) -> str:
    normal = email.strip().lower()
    try:
        validate_email(normal)
    except ValidationError:
        raise AccountError(
            "user.email_invalid", f"{email!r} is not a valid email address.", hint="Write it like name@example.com."
        ) from None
    return normal


def _no_password() -> str:
    unusable = User()
    unusable.set_unusable_password()
    return unusable.password
