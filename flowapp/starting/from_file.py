"""Propose a pipeline from a file: detected settings, the user's changes, and the resulting document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from executors.api import Cell, Detection, Fit, Key, Members, Problem
from flowapp.accounts.models import Workspace
from flowapp.pipelines.checking import check_text
from flowapp.starting.answers import Answers, Choice, Setting, make_setting
from flowapp.starting.column_pages import ColumnPage, page_of_columns
from flowapp.starting.columns import (
    Column,
    ColumnRow,
    choose_columns,
    column_rows,
    given_keys,
    readable_columns,
    sample_rows,
)
from flowapp.starting.documents import REJECT, Load, Node, document_text, field_of, file_source, make_document
from flowapp.starting.file_settings import given_settings, list_settings
from flowapp.starting.load_form import LoadForm, make_load_form
from flowapp.starting.names import table_name, title
from flowapp.starting.place import Place, choose_place, existing_key
from flowapp.uploads.folder import list_folder
from flowapp.uploads.heads import Head, list_archive, read_head
from flowapp.web.document_form import field_labels
from ir.diagnostics import Diagnostic
from ir.errors import FlowError
from ir.patterns import glob_matcher, literal_glob

ALL_FILES, ONE_FILE = "all", "one"
NO_FIT = Fit((), ())


@dataclass(slots=True)
class Proposal:
    """A pipeline that loads the file. `page` are the displayed columns, `others` the diagnostics without a field."""

    detection: Detection
    problems: list[Problem]
    columns: list[ColumnRow]
    rows: list[list[tuple[Cell, Column]]]
    load: LoadForm
    missing_in_table: list[str]
    document: Node
    others: list[Diagnostic] = field(default_factory=list)
    page: ColumnPage | None = None

    @property
    def text(self) -> str:
        return document_text(self.document)


@dataclass(frozen=True, slots=True)
class Archive:
    """The files in a ZIP archive that a run reads, and the others. `pattern` is that of their names, "" for the usual
    endings of the format."""

    read: tuple[str, ...]
    others: tuple[str, ...]
    pattern: str


@dataclass(slots=True)
class FileStart:
    """The settings of the file and a proposal. If the file cannot be read with these settings, `error` says why.
    `archive` says which files in an archive are read."""

    path: str
    settings: list[Setting]
    files: Setting
    archive: Archive | None = None
    proposal: Proposal | None = None
    error: FlowError | None = None

    @property
    def is_valid(self) -> bool:
        if self.proposal is None:
            return False
        settings = (*self.settings, self.files, *self.proposal.load.settings())
        found = [diagnostic for setting in settings for diagnostic in setting.diagnostics]
        found += [diagnostic for row in self.proposal.columns for diagnostic in row.diagnostics]
        return not any(diagnostic.severity == "error" for diagnostic in (*found, *self.proposal.others))


def start_from_file(workspace: Workspace, path: str, answers: Answers) -> FileStart:
    """Read the file with the settings of the form and propose the rest. Raises FlowError if the file does not exist."""
    head = read_head(workspace, path)
    path = head.archive or path
    files = _files_setting(workspace, path, answers)
    try:
        detection = head.detect(given_settings(answers))
        columns = choose_columns(answers, detection.columns)
        fit = head.fit(detection.format, readable_columns(columns)) if columns else NO_FIT
    except FlowError as error:
        return FileStart(path, list(list_settings(answers, None)), files, error=error)
    start = FileStart(path, list(list_settings(answers, detection.format)), files, _archive(workspace, head, detection))
    start.proposal = _propose(start, workspace, answers, detection, columns, fit)
    _show_diagnostics(start, workspace, columns)
    start.proposal.page = page_of_columns(answers, start.proposal.columns)
    start.proposal.rows = start.proposal.page.cells(start.proposal.rows)
    return start


def _propose(
    start: FileStart, workspace: Workspace, answers: Answers, detection: Detection, columns: list[Column], fit: Fit
) -> Proposal:
    table = table_name(start.path)
    place = choose_place(workspace, answers, table)
    names = {column.name: column.target_name for column in columns if column.is_included}
    chosen = given_keys(answers, columns)
    keys = _proposed_keys(place, names, detection.keys) if chosen is None else chosen
    # A user who changes the key wants to upsert, even while no column is selected.
    is_upsert = chosen is not None or bool(keys)
    load = Load(
        mode=answers.text("mode", "upsert" if is_upsert else "append"),
        key=tuple(names[key] for key in keys if key in names),
        on_misfit=answers.text("onMisfit", REJECT),
    )
    form = make_load_form(workspace, answers, place, load, title(table))
    source = _source(start, detection, columns, load)
    return Proposal(
        detection=detection,
        problems=[problem for problem in detection.problems if problem.column not in names],
        columns=column_rows(answers, columns, fit, detection.problems, keys),
        rows=sample_rows(fit, columns),
        load=form,
        missing_in_table=_missing_in_table(place, names.values()),
        document=make_document(form.slug, form.name.value, source, columns, place, load),
    )


def _source(start: FileStart, detection: Detection, columns: Sequence[Column], load: Load) -> Node:
    folder, _, file = start.path.rpartition("/")
    pattern = literal_glob(file) if start.files.value == ONE_FILE else _pattern(file)
    members = start.archive.pattern if start.archive else ""
    return file_source(folder, pattern, detection.format.to_document(), columns, load, members)


def _archive(workspace: Workspace, head: Head, detection: Detection) -> Archive | None:
    """Return what is read of an archive. If not all of its files have usual names, the pipeline gets a pattern, so that
    runs do not warn of files that are shown here as not read."""
    if not head.archive:
        return None
    first = head.path.rpartition("/")[2]
    if detection.format.is_usual(first):
        found = list_archive(workspace, head.archive, detection.format.is_usual)
        if not found.others:
            return _archive_of(head, found, "")
    pattern = _pattern(first)
    return _archive_of(head, list_archive(workspace, head.archive, glob_matcher(pattern)), pattern)


def _archive_of(head: Head, found: Members, pattern: str) -> Archive:
    names = tuple(file.name.removeprefix(f"{head.archive}/") for file in found.files)
    return Archive(names, found.others, pattern)


def _proposed_keys(place: Place, names: Mapping[str, str], found: Sequence[Key]) -> list[str]:
    """Return the key of the existing table, else a column that identifies rows and is likely to be a key, if other
    columns exist."""
    if place.destination is not None:
        return existing_key(place, names)
    likely = next((key for key in found if key.is_unique and key.is_likely and names.keys() > set(key.columns)), None)
    return list(likely.columns) if likely else []


def _missing_in_table(place: Place, names: Iterable[str]) -> list[str]:
    if place.destination is None:
        return []
    return [name for name in names if place.destination.column(name) is None]


def _files_setting(workspace: Workspace, path: str, answers: Answers) -> Setting:
    """Return the choice between this file and all files with a similar name. Other files may have another format, so
    all files are proposed only if there are no others yet."""
    folder, _, file = path.rpartition("/")
    matching = list_folder(workspace, folder).matching(_pattern(file))
    where = f"the folder {folder}" if folder else "the workspace's folder"
    choices = (
        Choice(ALL_FILES, f"All files {_pattern(file)} in {where}, now {len(matching):,} and later ones"),
        Choice(ONE_FILE, f"Only {file}"),
    )
    value = answers.text("files", answers.data.get("files", ALL_FILES if len(matching) == 1 else ONE_FILE))
    return make_setting(answers, "files", "Files", value if value in (ALL_FILES, ONE_FILE) else ONE_FILE, choices)


def _pattern(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return f"*.{literal_glob(ending)}" if stem and dot else literal_glob(name)


def _show_diagnostics(start: FileStart, workspace: Workspace, columns: Sequence[Column]) -> None:
    """Attach each diagnostic to its field."""
    if (proposal := start.proposal) is None:
        return
    settings = (*start.settings, start.files, *proposal.load.settings())
    fields = {one.name: one.diagnostics for one in settings}
    fields |= {row.column.prefix: row.diagnostics for row in proposal.columns}
    checked = check_text(workspace, proposal.text, looks_at_files=True).diagnostics
    for found in field_labels().in_diagnostics(checked, proposal.document):
        fields.get(field_of(proposal.document, found.path, columns), proposal.others).append(found)
