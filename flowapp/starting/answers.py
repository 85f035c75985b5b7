"""What a person changed in a form whose other values follow what was detected."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.http import QueryDict

from ir.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Answers:
    """A submitted form. Each field comes with the value that the page showed, `was-NAME`, and `given` lists the fields
    that were changed before. A field that is neither changed nor given is detected anew."""

    data: QueryDict = field(default_factory=QueryDict)

    def given(self, name: str) -> str | None:
        """The value that a person chose, None if the field has the detected one."""
        shown = self.data.get(f"was-{name}")
        if shown is None:
            return None
        value = self.data.get(name, "")
        return value if value != shown or name in self.data.getlist("given") else None

    def text(self, name: str, detected: str) -> str:
        chosen = self.given(name)
        return detected if chosen is None else chosen.strip()

    def is_on(self, name: str, detected: bool) -> bool:
        """The value of a checkbox."""
        chosen = self.given(name)
        return detected if chosen is None else chosen == ON


ON = "on"


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str


@dataclass(slots=True)
class Setting:
    """A field as its template shows it. Without `choices` it is a text field."""

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
    """A field with its value among the choices."""
    if choices and value not in [choice.value for choice in choices]:
        choices = (*choices, Choice(value, value or "– Choose –"))
    return Setting(name, label, value, answers.given(name) is not None, choices, help, suggestions, example)
