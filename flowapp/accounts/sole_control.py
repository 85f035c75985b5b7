"""Track whether a user alone controls an account, and end credentials that other people may know.

docs/operations/accounts.md defines the rules. An admin hands over the login links that the admin makes, but may have a
copy. Credentials set through such a link therefore end when the account joins a workspace of other people."""

from __future__ import annotations

from django.db.models import Q

from flowapp.accounts.models import EndedCredentials, KnownNetwork, LoginLink, Token, User, Workspace
from flowapp.clock import Now

OTHERS_LINKS = Q(made_by__isnull=False)
"""Links made by admins. Links made on the server have no maker, and only the user receives them."""


def end_shared_credentials(user: User, joined: Workspace) -> EndedCredentials | None:
    """End the credentials that an account must not bring into a workspace it joins; return which ones. `user` is
    locked.

    An account under sole control loses only its unused login links made by admins.
    """
    if user.sole_control_since is not None:
        return _note(user, joined, links=_delete_links(Q(user=user) & OTHERS_LINKS & ~Q(made_by=user)))
    return _end_all(user, joined, (Q(user=user) | Q(made_by=user)) & OTHERS_LINKS)


def take_sole_control(user: User) -> EndedCredentials | None:
    """Mark the account as controlled by its user alone, after a link made on the server; end earlier credentials."""
    if user.sole_control_since is not None:
        return None
    User.objects.filter(pk=user.pk).update(sole_control_since=Now())
    # Other links made on the server end without a notice: only the user received them.
    _delete_links(Q(user=user) & ~OTHERS_LINKS)
    return _end_all(user, None, (Q(user=user) | Q(made_by=user)) & OTHERS_LINKS)


def give_up_sole_control(user: User) -> None:
    """Record that an admin's link has signed in: the admin may now hold the session and set a password."""
    User.objects.filter(pk=user.pk).update(sole_control_since=None)


def _end_all(user: User, joined: Workspace | None, links: Q) -> EndedCredentials | None:
    ended = {
        "password": user.has_usable_password(),
        "sessions": _may_have_sessions(user),
        "links": _delete_links(links),
        "tokens": _end_tokens(user, "The creator's credentials were ended."),
    }
    # Sessions contain a hash of this value. All of them end with it, even those that begin at this moment.
    user.set_unusable_password()
    User.objects.filter(pk=user.pk).update(password=user.password)
    KnownNetwork.objects.filter(user=user).delete()
    return _note(user, joined, **ended)


def _may_have_sessions(user: User) -> bool:
    if user.last_login is None:
        return False
    return not EndedCredentials.objects.filter(user=user, sessions=True, at__gt=user.last_login).exists()


def end_tokens_in(workspace: Workspace, user: User) -> int:
    """End the tokens of a user who leaves the workspace."""
    return _end_tokens(user, "The creator is no longer a member.", workspace=workspace)


def _end_tokens(user: User, reason: str, **which: Workspace) -> int:
    """End tokens but keep them in the list, so that users can see why a program stopped working."""
    valid = Token.objects.filter(created_by=user, expires_at__gt=Now(), **which)
    return valid.update(expires_at=Now(), ended_reason=reason)


def _delete_links(which: Q) -> int:
    return LoginLink.objects.filter(which, used_at=None, expires_at__gt=Now()).delete()[0]


def _note(user: User, joined: Workspace | None, **ended: bool | int) -> EndedCredentials | None:
    """Store a notice for the user's next sign-in."""
    return EndedCredentials.objects.create(user=user, joined=joined, **ended) if any(ended.values()) else None


def see_ended_credentials(user: User) -> list[EndedCredentials]:
    """Return the notices that the user has not seen yet, and mark them as seen."""
    unseen = EndedCredentials.objects.filter(user=user, seen_at=None).select_related("joined").order_by("at")
    found = list(unseen)
    if found:
        EndedCredentials.objects.filter(pk__in=[ended.pk for ended in found]).update(seen_at=Now())
    return found
