"""Whether a person alone controls an account, and ending the credentials that others may have.

docs/accounts.md says what counts. Links that an admin makes are for handing over, but nobody can see whether the admin
has kept one: what was set by them ends when the account joins a workspace of others.
"""

from __future__ import annotations

from django.db.models import Q
from django.db.models.functions import Now

from flowapp.accounts.models import EndedCredentials, KnownNetwork, LoginLink, Token, User, Workspace

OTHERS_LINKS = Q(made_by__isnull=False)
"""Links made on the server have no maker, and only the person gets them."""


def end_shared_credentials(user: User, joined: Workspace) -> EndedCredentials | None:
    """What an account that joins a workspace must not bring along; returns what was ended. `user` is held.

    An account under sole control loses the unused links of admins alone.
    """
    if user.sole_control_since is not None:
        return _note(user, joined, links=_delete_links(Q(user=user) & OTHERS_LINKS & ~Q(made_by=user)))
    return _end_all(user, joined, (Q(user=user) | Q(made_by=user)) & OTHERS_LINKS)


def take_sole_control(user: User) -> EndedCredentials | None:
    """For whoever signs in by a link made on the server; what was set before that ends."""
    if user.sole_control_since is not None:
        return None
    User.objects.filter(pk=user.pk).update(sole_control_since=Now())
    # The server's other links end unreported: nobody but the person got them.
    _delete_links(Q(user=user) & ~OTHERS_LINKS)
    return _end_all(user, None, (Q(user=user) | Q(made_by=user)) & OTHERS_LINKS)


def give_up_sole_control(user: User) -> None:
    """An admin's link has signed in: from here on that admin may have the session and set a password."""
    User.objects.filter(pk=user.pk).update(sole_control_since=None)


def _end_all(user: User, joined: Workspace | None, links: Q) -> EndedCredentials | None:
    ended = {
        "password": user.has_usable_password(),
        "sessions": _may_have_sessions(user),
        "links": _delete_links(links),
        "tokens": _end_tokens(user, "The creator's credentials were ended."),
    }
    # Sessions carry a hash of this: they end with it, also those that begin at this moment.
    user.set_unusable_password()
    User.objects.filter(pk=user.pk).update(password=user.password)
    KnownNetwork.objects.filter(user=user).delete()
    return _note(user, joined, **ended)


def _may_have_sessions(user: User) -> bool:
    if user.last_login is None:
        return False
    return not EndedCredentials.objects.filter(user=user, sessions=True, at__gt=user.last_login).exists()


def end_tokens_in(workspace: Workspace, user: User) -> int:
    """For somebody who leaves the workspace."""
    return _end_tokens(user, "The creator is no longer a member.", workspace=workspace)


def _end_tokens(user: User, reason: str, **which: Workspace) -> int:
    """They stay in the list, so that a program that stopped working can be explained."""
    valid = Token.objects.filter(created_by=user, expires_at__gt=Now(), **which)
    return valid.update(expires_at=Now(), ended_reason=reason)


def _delete_links(which: Q) -> int:
    return LoginLink.objects.filter(which, used_at=None, expires_at__gt=Now()).delete()[0]


def _note(user: User, joined: Workspace | None, **ended: bool | int) -> EndedCredentials | None:
    """For the person to read at the next sign-in."""
    return EndedCredentials.objects.create(user=user, joined=joined, **ended) if any(ended.values()) else None


def see_ended_credentials(user: User) -> list[EndedCredentials]:
    """What the person has not been told yet; told by that."""
    unseen = EndedCredentials.objects.filter(user=user, seen_at=None).select_related("joined").order_by("at")
    found = list(unseen)
    if found:
        EndedCredentials.objects.filter(pk__in=[ended.pk for ended in found]).update(seen_at=Now())
    return found
