"""Create a pipeline from an existing document, such as an export of another workspace."""

from __future__ import annotations

from django.core.files.uploadedfile import UploadedFile

from flowapp.accounts.models import User, Workspace
from flowapp.pipelines.checking import check_text
from flowapp.pipelines.documents import syntax_of
from flowapp.pipelines.drafts import is_storable
from flowapp.pipelines.models import PipelineVersion
from flowapp.pipelines.services import save_version
from ir.errors import FlowError
from ir.limits import MAX_BYTES


def read_upload(file: UploadedFile[bytes]) -> str:
    """Return the text of an uploaded document. Raises FlowError."""
    data: bytes = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise FlowError("import.too_large", f"The document is larger than {MAX_BYTES:,} bytes.", hint="Choose another.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _not_text() from None


def import_document(workspace: Workspace, text: str, author: User, role: str) -> PipelineVersion:
    """Save a JSON or TOML document as a new pipeline. Raises InvalidPipeline with all diagnostics, VersionConflict if a
    pipeline has its id, and FlowError."""
    if not is_storable(text):
        raise _not_text()
    syntax = syntax_of(text)
    check_text(workspace, text, syntax=syntax, fresh=True).require_valid()
    return save_version(workspace, text, author, "Imported", expected_version=0, syntax=syntax, role=role)


def _not_text() -> FlowError:
    return FlowError("import.not_text", "The document is not UTF-8 text.", hint="Choose a JSON or TOML file.")
