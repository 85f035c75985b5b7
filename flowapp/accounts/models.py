"""Users, roles, credentials, and the workspaces that own everything else."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.hashers import check_password
from django.db import models

from ir.words import counted


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """Create a user. Without a password, only a one-time link signs the user in."""
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    email = models.EmailField(unique=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    sole_control_since = models.DateTimeField(null=True)
    """Since when only the user may hold credentials of the account; None while an admin who made a link may hold some
    too."""

    objects = UserManager()
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    def __str__(self) -> str:
        return self.email

    def check_password(self, raw_password: str | None) -> bool:
        """Check the password. A hash of outdated strength is replaced unless the password has changed meanwhile."""

        def upgrade(password: str) -> None:
            unchanged = User.objects.filter(pk=self.pk, password=self.password)
            self.set_password(password)
            unchanged.update(password=self.password)

        return check_password(raw_password, self.password, upgrade)


class Workspace(models.Model):
    """The tenant. Its UUID is the key of its fences in target databases; its slug names its folder of files."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(max_length=63, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """A user's role in a workspace. A user without a membership cannot see that the workspace exists."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16)
    created_at = models.DateTimeField(auto_now_add=True)
    result_opened_at = models.DateTimeField(null=True)
    """When the member first opened a run that had loaded rows."""
    first_steps_hidden_at = models.DateTimeField(null=True)
    """When the member hid the list of first steps."""

    ended: EndedCredentials | None = None
    """The credentials that ended when the user joined. Only `add_member` sets it; it is not stored."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=["workspace", "user"], name="member_once"),)

    def __str__(self) -> str:
        return f"{self.user_id} {self.role}"


class Token(models.Model):
    """An API token for one workspace. Only the hash of its text is stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    role = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    ended_reason = models.CharField(max_length=100, default="")
    """Why the token ended before its expiry."""

    granted_role = ""
    """The role that requests have now: at most that of the creator. Set when a token is looked up by its key."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=["workspace", "name"], name="token_name"),)

    def __str__(self) -> str:
        return self.name


class FailedAttempts(models.Model):
    """A count of wrong passwords or signatures, under a hash of what was tried and of where from. It expires at
    `until`."""

    key = models.CharField(max_length=64, primary_key=True)
    count = models.PositiveIntegerField()
    until = models.DateTimeField(db_index=True)
    objects: ClassVar[models.Manager[FailedAttempts]]

    def __str__(self) -> str:
        return f"{self.count} failed attempts"


class KnownNetwork(models.Model):
    """The hash of a network from which the user has signed in. Guesses from other networks do not lock that network
    out."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    network = models.CharField(max_length=64)
    seen_at = models.DateTimeField(db_index=True)
    objects: ClassVar[models.Manager[KnownNetwork]]

    class Meta:
        constraints = (models.UniqueConstraint(fields=["user", "network"], name="known_network_once"),)

    def __str__(self) -> str:
        return f"{self.user_id} {self.network}"


class EndedCredentials(models.Model):
    """Which credentials of an account were ended, and when. The user is notified once, at the next sign-in."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    joined = models.ForeignKey(Workspace, models.CASCADE, null=True, related_name="+")
    at = models.DateTimeField(auto_now_add=True, db_index=True)
    password = models.BooleanField(default=False)
    sessions = models.BooleanField(default=False)
    links = models.PositiveIntegerField(default=0)
    tokens = models.PositiveIntegerField(default=0)
    seen_at = models.DateTimeField(null=True)
    objects: ClassVar[models.Manager[EndedCredentials]]

    def __str__(self) -> str:
        """Return text such as "the password, all sessions and 2 API tokens"."""
        parts = ["the password"] if self.password else []
        parts += ["all sessions"] if self.sessions else []
        parts += [counted(self.links, "unused login link")] if self.links else []
        parts += [counted(self.tokens, "API token")] if self.tokens else []
        return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


class LoginLink(models.Model):
    """A login link that works once. Only the hash of its text is stored. A link without a creator was made on the
    server."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="login_links")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.id)
