"""Codes of projects of manifests: plans, proposals and exports."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "connection.in_use",
        "Pipelines that are not in the project use the connection.",
        "Change these pipelines first, or declare the connection again.",
        status=409,
    ),
    ErrorCode(
        "connection.secret_missing",
        "The variable of a connection's secret is not set.",
        "Set it where you plan and apply. In the browser, FLOW_PROJECT_ENV must list it.",
    ),
    ErrorCode(
        "export.not_possible",
        "A file of the project cannot be edited in place.",
        "Edit the changed parts, or remove the entry, then export again.",
        status=409,
    ),
    ErrorCode(
        "plan.changed",
        "The workspace has changed since the plan was shown or approved.",
        "Review the current plan, and approve it again.",
        status=409,
    ),
    ErrorCode(
        "plan.drift",
        "A pipeline or connection was changed in the browser since the project was last applied.",
        "Accept the change with `flow export`, or overwrite it with --force.",
        status=409,
    ),
    ErrorCode(
        "plan.needs_yes",
        "A pipeline would be archived or a connection removed.",
        "Confirm that with --yes.",
        status=409,
    ),
    ErrorCode(
        "plan.other_project",
        "A pipeline or connection of the project was applied by another project of the workspace.",
        "Remove it from one of the projects, or move it into this one with --force.",
        status=409,
    ),
    ErrorCode(
        "project.file_repeated",
        "Several uploaded files of a project have the same name.",
        "Upload each file of the project once.",
    ),
    ErrorCode(
        "project.too_large",
        "The files of a project are too many or too large to upload.",
        "Apply the project with the command line.",
    ),
    ErrorCode(
        "proposal.state",
        "The state of the plan does not allow this.",
        "Reload the page.",
        status=409,
    ),
    ErrorCode("proposal.unknown", "The plan does not exist here.", "The Plan page lists the plans.", status=404),
)
