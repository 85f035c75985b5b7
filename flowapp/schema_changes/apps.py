"""Django configuration of this app; registers its hooks with lower layers."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class SchemaChangesConfig(Registers, AppConfig):
    name = "flowapp.schema_changes"

    def register(self) -> None:
        from flowapp.processes import retention
        from flowapp.runs import events
        from flowapp.schema_changes.models import ColumnChange
        from flowapp.schema_changes.selectors import DECIDED, accepted_changes, rejected_changes
        from flowapp.schema_changes.services import note_followed, note_refused

        events.find_accepted_changes.register(accepted_changes)
        events.find_rejected_changes.register(rejected_changes)
        events.attempt_failed.register(note_refused)
        events.load_committed.register(note_followed)
        retention.register(
            retention.Retention("Applied and withdrawn changes of columns", ColumnChange, "seen_at", 730, DECIDED)
        )
