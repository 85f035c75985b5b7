"""Forms of the sign-in and Settings pages. The services validate their values again."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import password_validation

from flowapp.accounts.models import User
from flowapp.accounts.roles import ROLES

ROLE_CHOICES = tuple((role, role.capitalize()) for role in ROLES)
ROLES_EXPLAINED = (
    "Viewers read everything except values of rejected rows. Editors also edit and run pipelines, fix rejected rows "
    "and "
    "upload files. Admins also manage connections, members and tokens."
)


class StyledForm(forms.Form):
    """A form in Tabler's style that also marks invalid fields for screen readers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.style()

    def style(self) -> None:
        """Style all fields. Call it again after adding fields to the form."""
        for field in self.fields.values():
            is_choice = isinstance(field.widget, forms.Select)
            field.widget.attrs.setdefault("class", "form-select" if is_choice else "form-control")


class PasswordLogin(StyledForm):
    email = forms.EmailField(
        label="E-mail", widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": ""})
    )
    password = forms.CharField(
        label="Password", strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )


class NewPassword(StyledForm):
    password = forms.CharField(
        label="New password",
        strip=False,
        help_text="At least 12 characters. Common passwords are refused.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="Repeat the password", strip=False, widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        password_validation.validate_password(password, self.user)
        return password

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if {"password", "again"} <= given.keys() and given["password"] != given["again"]:
            self.add_error("again", "The passwords differ. Type the same password twice.")
        return given


class WorkspaceForm(StyledForm):
    slug = forms.CharField(
        label="Name",
        max_length=63,
        help_text="Lower-case letters, digits and -, such as sales-team. It is part of addresses and folders and "
        "cannot change.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class MemberForm(StyledForm):
    email = forms.EmailField(label="E-mail", widget=forms.EmailInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(label="Role", choices=ROLE_CHOICES)


class TokenForm(StyledForm):
    name = forms.CharField(label="Name", max_length=100, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    role = forms.ChoiceField(label="Role", choices=ROLE_CHOICES)
    days = forms.IntegerField(label="Valid for (days)", initial=90, min_value=1, max_value=3650)
