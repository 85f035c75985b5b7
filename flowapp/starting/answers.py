"""The changes that a user made in a form with detected values."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.http import QueryDict

from ir.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Answers:
    """A submitted form. Each field also sends its displayed value as `was-NAME`, and `given` lists the fields that were
    changed before. A field that is neither changed nor given is detected again."""

    data: QueryDict = field(default_factory=QueryDict)

    def given(self, name: str) -> str | None:
        """Return the value that the user chose; None if the field has the detected value."""
        shown = self.data.get(f"was-{name}")
        if shown is None:
            return None
        value = self.data.get(name, "")
        return value if value != shown or name in self.data.getlist("given") else None

    def text(self, name: str, detected: str) -> str:
        chosen = self.given(name)
        return detected if chosen is None else chosen.strip()

    def is_on(self, name: str, detected: bool) -> bool:
        """Return the value of a checkbox."""
        chosen = self.given(name)
        return detected if chosen is None else chosen == ON


ON = "on"


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str


@dataclass(slots=True)
class Setting:
    """A field for its template. Without `choices` it is a text field."""

    name: str
    label: str
    value: str
    is_given: bool
    choices: tuple[Choice, ...] = ()
    help: str = ""
    suggestions: str = ""
    example: str = ""
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def is_invalid(self) -> bool:
        return any(found.severity == "error" for found in self.diagnostics)


def make_setting(
    answers: Answers,
    name: str,
    label: str,
    value: str,
    choices: tuple[Choice, ...] = (),
    *,
    help: str = "",
    suggestions: str = "",
    example: str = "",
) -> Setting:
    """Return a field with its value among the choices."""
    if choices and value not in [choice.value for choice in choices]:
        choices = (*choices, Choice(value, value or "– Choose –"))
    return Setting(name, label, value, answers.given(name) is not None, choices, help, suggestions, example)
