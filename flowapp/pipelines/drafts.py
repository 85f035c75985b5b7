"""Drafts: one text that form, canvas and JSON tab share, with a common undo history. Saving a draft makes a version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import IntegrityError, transaction

from flowapp.accounts.models import User
from flowapp.pipelines.checking import Checked, check_text, read_value
from flowapp.pipelines.documents import syntax_of
from flowapp.pipelines.models import Draft, DraftStep, Pipeline, PipelineVersion
from flowapp.pipelines.selectors import get_version
from flowapp.pipelines.services import VersionConflict, save_version
from flowapp.web.document_form import field_labels
from ir.diagnostics import Diagnostic
from ir.errors import FlowError
from ir.json_edits import apply_patch, write_json
from ir.limits import MAX_BYTES
from ir.schema import SCHEMA_ID

_REVISION, _PAGE = re.compile('"([0-9a-f]{16})"'), re.compile("[0-9a-f]{32}")
MOST_STEPS = 500
TRIES = 10


class DraftConflict(FlowError):
    """The draft has changed since the revision on which an edit is based."""

    def __init__(self) -> None:
        super().__init__(
            "draft.conflict",
            "The draft changed in another tab or program. Your change was not saved.",
            hint="Reload the draft, then repeat your change if needed.",
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """What an edit is based on: the draft's revision, and the browser page that displayed it.

    A page may send an edit before the response to its previous edit arrives. Such an edit is accepted if the same page
    made the newest change.
    """

    revision: str = ""
    page: str = ""

    def is_current(self, draft: Draft) -> bool:
        return self.revision in ("", draft.revision) or (self.page != "" and self.page == draft.page)


ANYTHING = Seen()
"""The base of edits by programs that do not send one: any draft."""


def read_seen(headers: Mapping[str, str]) -> Seen:
    """Read the base of an edit from `If-Match: "<revision>"` and `X-Flow-Page`. Raises FlowError."""
    given, page = headers.get("If-Match", "*").strip(), headers.get("X-Flow-Page", "")
    revision = _REVISION.fullmatch(given)
    if revision is None and given != "*":
        raise FlowError(
            "draft.revision_malformed",
            f"If-Match is {given[:100]!r}, which is not a revision of a draft.",
            hint='Send the draft\'s revision in quotes, as its ETag has it: If-Match: "0123456789abcdef".',
        )
    return Seen(revision[1] if revision else "", page if _PAGE.fullmatch(page) else "")


class TextRefused(FlowError):
    def __init__(self, why: str) -> None:
        super().__init__("draft.text_refused", why, hint="A draft is UTF-8 text that PostgreSQL can store.")


# --- opening ------------------------------------------------------------------------------------------------------


def open_draft(pipeline: Pipeline, user: User | None) -> Draft:
    """Return the user's draft, or an unsaved draft of the newest version, which the first change stores."""
    stored = Draft.objects.filter(pipeline=pipeline, user=user).first() if user else None
    if stored is not None and (stored.base_number == pipeline.latest_number or is_changed(stored)):
        stored.pipeline = pipeline
        return stored
    if stored is not None and not _delete_if_unmoved(stored):
        return open_draft(pipeline, user)  # another tab has just changed it
    text = base_text(pipeline, pipeline.latest_number)
    return Draft(
        workspace_id=pipeline.workspace_id,
        pipeline=pipeline,
        user=user,
        base_number=pipeline.latest_number,
        text=text,
        good_text=text,
    )


def base_text(pipeline: Pipeline, number: int) -> str:
    """Return the JSON text of a version; version 0, the start of every pipeline, is an empty document."""
    return json_text(get_version(pipeline, number).document) if number else empty_text(pipeline)


def empty_text(pipeline: Pipeline) -> str:
    head = {"$schema": SCHEMA_ID, "kind": "pipeline", "version": "1.0", "id": pipeline.slug}
    name = {"metadata": {"name": pipeline.name}} if pipeline.name else {}
    lines = [f"  {write_json(key)}: {write_json(value, '  ')}" for key, value in {**head, **name, "nodes": []}.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def json_text(document: str) -> str:
    """Return a version's text for the editor, converted to JSON if it was saved as TOML."""
    document, syntax = document.removeprefix("\ufeff"), syntax_of(document)
    return document if syntax == "json" else write_json(read_value(document, syntax)) + "\n"


def is_changed(draft: Draft) -> bool:
    return draft.text != base_text(draft.pipeline, draft.base_number)


# --- changing -----------------------------------------------------------------------------------------------------


def patch_draft(
    draft: Draft, patch: Any, label: str = "Edit", position: int | None = None, seen: Seen = ANYTHING
) -> Draft:
    """Apply a JSON Patch. Raises PatchRefused, UnreadableText, or DraftConflict if the draft has changed since
    `seen`."""
    for _ in range(TRIES):
        _require_position(draft, position)
        require_seen(draft, seen)
        text = apply_patch(draft.text, patch)
        if not patch or text == draft.text:
            return draft
        changed = _change(draft, text, label, seen.page)
        if changed is not None:
            return changed
        draft = open_draft(draft.pipeline, draft.user)
    raise DraftConflict


def replace_text(
    draft: Draft, text: Any, label: str = "JSON", position: int | None = None, seen: Seen = ANYTHING
) -> Draft:
    """Replace the whole text, valid or not. Raises TextRefused or DraftConflict.

    A whole text would overwrite earlier edits of the same page, so only the revision counts here, not the page.
    """
    _require_storable(text)
    _require_position(draft, position)
    require_seen(draft, Seen(seen.revision))
    text = text.removeprefix("\ufeff")
    if text == draft.text:
        return draft
    changed = _change(draft, text, label, seen.page)
    if changed is None:
        raise DraftConflict
    return changed


def undo(draft: Draft, seen: Seen = ANYTHING) -> Draft:
    """Undo the newest step, if there is one. Raises DraftConflict."""
    require_seen(draft, seen)
    step = _step(draft, number=draft.position)
    if step is None:
        return draft
    return _go(draft, step.previous, _swap(draft.text, step, step.inserted, step.removed), seen.page)


def redo(draft: Draft, seen: Seen = ANYTHING) -> Draft:
    """Redo the step that was undone last, if there is one. Raises DraftConflict."""
    require_seen(draft, seen)
    step = _step(draft, previous=draft.position)
    if step is None:
        return draft
    return _go(draft, step.number, _swap(draft.text, step, step.removed, step.inserted), seen.page)


def discard(draft: Draft, seen: Seen = ANYTHING) -> Draft:
    """Delete the draft with its steps and return an unsaved draft of the newest version. Raises DraftConflict."""
    require_seen(draft, seen)
    if draft.user_id is None:
        return draft
    if not draft._state.adding and not _delete_if_unmoved(draft):
        raise DraftConflict
    draft.pipeline.refresh_from_db()
    return open_draft(draft.pipeline, draft.user)


def _delete_if_unmoved(draft: Draft) -> bool:
    """Delete a draft with its steps, unless it was changed since it was read."""
    with transaction.atomic():
        unmoved = Draft.objects.select_for_update().filter(pk=draft.pk, position=draft.position).first()
        return unmoved is not None and bool(unmoved.delete())


def put_on_version(draft: Draft, number: int, seen: Seen = ANYTHING) -> Draft:
    """Rebase the draft on the version that its owner has seen, without changing its text, so that the next save
    replaces it. Raises DraftConflict, and VersionConflict if that version is no longer the newest."""
    require_seen(draft, seen)
    draft.pipeline.refresh_from_db()
    if number != draft.pipeline.latest_number:
        raise VersionConflict(draft.pipeline.slug, number, draft.pipeline.latest_number)
    if not draft._state.adding:
        Draft.objects.filter(pk=draft.pk).update(base_number=number)
        draft.base_number = number
    return draft


def save_draft(
    draft: Draft, author: User | None, message: str = "", *, role: str = "editor", seen: Seen = ANYTHING
) -> PipelineVersion:
    """Save the draft's text as the newest version.

    Raises InvalidPipeline, IdChanged, UnknownConnection, FlowError `hook.needs_admin`, DraftConflict if the draft has
    changed since `seen`, or VersionConflict if somebody else has saved meanwhile.
    """
    require_seen(draft, seen)
    pipeline = draft.pipeline
    document = check_text(pipeline.workspace, draft.text, fresh=True).require_valid()
    require_same_id(pipeline, document.id)
    pipeline.refresh_from_db()
    if draft.base_number != pipeline.latest_number:
        raise VersionConflict(pipeline.slug, draft.base_number, pipeline.latest_number)
    if pipeline.latest_number and not is_changed(draft):
        return get_version(pipeline)
    version = save_version(pipeline.workspace, draft.text, author, message, draft.base_number, "json", role)
    Draft.objects.filter(pk=draft.pk).update(base_number=version.number, saved_position=draft.position)
    return version


def require_same_id(pipeline: Pipeline, slug: str) -> None:
    """Raise FlowError if the text has another pipeline's id, because saving it would change that pipeline."""
    if slug != pipeline.slug:
        raise FlowError(
            "pipeline.id_changed",
            f"The document's id is {slug!r}, and this pipeline is {pipeline.slug!r}.",
            hint=f'Set "id" back to "{pipeline.slug}". To use another id, create a new pipeline.',
        )


def is_storable(text: str) -> bool:
    """Return whether a database can store the text."""
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


def _require_storable(text: Any) -> None:
    if not isinstance(text, str):
        raise TextRefused("The text of a draft must be a string.")
    if len(text) > MAX_BYTES:
        raise TextRefused(f"The text is longer than {MAX_BYTES} characters.")
    if not is_storable(text):
        raise TextRefused("The text contains a NUL or an incomplete character.")


def require_seen(draft: Draft, seen: Seen) -> None:
    """Raise DraftConflict if an edit is based on another text than the draft's."""
    if not seen.is_current(draft):
        raise DraftConflict


def _require_position(draft: Draft, position: int | None) -> None:
    if position is not None and position != draft.position:
        raise DraftConflict


def _change(draft: Draft, text: str, label: str, page: str) -> Draft | None:
    """Store a new text as the next step; return None if a concurrent change was faster."""
    with transaction.atomic():
        if draft._state.adding and not _store(draft):
            return None
        step = _splice(draft, text, label)
        if _go_if_unmoved(draft, step.number, text, page, next_number=step.number + 1) is None:
            return None
        DraftStep.objects.filter(draft=draft, number__gt=step.previous).delete()
        step.save(force_insert=True)
        _forget_oldest(draft)
    return draft


def _store(draft: Draft) -> bool:
    if draft.user_id is None:
        raise FlowError(
            "draft.nobody",
            "Drafts belong to people, but this token has no owner.",
            hint="Use a token made by a person on the Settings page, or save a version with PUT …/ir/.",
        )
    try:
        with transaction.atomic():
            draft.save(force_insert=True)
    except IntegrityError:
        return False
    return True


def _splice(draft: Draft, text: str, label: str) -> DraftStep:
    """Return the change between two texts without their common prefix and suffix."""
    old, start = draft.text, _common(draft.text, text)
    limit = min(len(old), len(text)) - start
    end = _common(old[: -limit - 1 : -1] if limit else "", text[: -limit - 1 : -1] if limit else "")
    return DraftStep(
        draft=draft,
        number=draft.next_number,
        previous=draft.position,
        label=label[:200],
        offset=start,
        removed=old[start : len(old) - end],
        inserted=text[start : len(text) - end],
    )


def _common(left: str, right: str) -> int:
    """Return the length of the common prefix, by binary search."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _swap(text: str, step: DraftStep, gone: str, come: str) -> str:
    return text[: step.offset] + come + text[step.offset + len(gone) :]


def _step(draft: Draft, **where: int) -> DraftStep | None:
    return None if draft._state.adding else DraftStep.objects.filter(draft=draft, **where).first()


def _go(draft: Draft, position: int, text: str, page: str) -> Draft:
    if _go_if_unmoved(draft, position, text, page) is None:
        raise DraftConflict
    return draft


def _go_if_unmoved(draft: Draft, position: int, text: str, page: str, **more: int) -> Draft | None:
    good = {"good_text": text} if read_value(text) is not None else {}
    changes = {"position": position, "text": text, "page": page, **good, **more}
    if not Draft.objects.filter(pk=draft.pk, position=draft.position).update(**changes):
        return None
    for name, value in changes.items():
        setattr(draft, name, value)
    return draft


def _forget_oldest(draft: Draft) -> None:
    numbers = DraftStep.objects.filter(draft=draft).order_by("-number").values_list("number", flat=True)
    oldest = numbers[MOST_STEPS - 1 : MOST_STEPS].first()
    if oldest is not None:
        DraftStep.objects.filter(draft=draft, number__lt=oldest).delete()


# --- viewing ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DraftView:
    """A draft with its diagnostics, for the editor."""

    draft: Draft
    checked: Checked

    @cached_property
    def steps(self) -> list[DraftStep]:
        """The steps without their texts, oldest first."""
        if self.draft._state.adding:
            return []
        return list(DraftStep.objects.filter(draft=self.draft).defer("removed", "inserted").order_by("number"))

    @property
    def document(self) -> Any:
        """The plain document, or None if the text is unreadable."""
        return self.checked.value

    @cached_property
    def last_good(self) -> Any:
        """The document, or the newest readable one."""
        return self.document if self.document is not None else read_value(self.draft.good_text)

    @cached_property
    def diagnostics(self) -> list[Diagnostic]:
        """The diagnostics in the words of the forms."""
        return field_labels().in_diagnostics(self.checked.diagnostics, self.last_good)

    @property
    def can_undo(self) -> bool:
        return any(step.number == self.draft.position for step in self.steps)

    @property
    def can_redo(self) -> bool:
        return any(step.previous == self.draft.position for step in self.steps)

    @cached_property
    def changes(self) -> int:
        """The number of steps between the text and its version; 0 if they are equal."""
        if not is_changed(self.draft):
            return 0
        low, high = sorted((self.draft.position, self.draft.saved_position))
        return max(1, sum(low < step.number <= high for step in self.steps))


def view_draft(draft: Draft, *, looks_at_files: bool = False) -> DraftView:
    """Return the draft with its diagnostics. `looks_at_files` is as in `check_text`."""
    return DraftView(draft, check_text(draft.pipeline.workspace, draft.text, looks_at_files=looks_at_files))
