"""The pages of the documentation: the index, and that every link, code and form field has a target."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

from executors.errors import ERROR_CODES as OF_RUNS
from flowapp.alerts.kinds import ALERT_KINDS
from flowapp.error_codes import ERROR_CODES, WARNING_CODES
from flowapp.web.docs import INDEX, code_link, field_url, list_groups, page_url, read_page
from flowapp.web.schema_form import Field, FormMaker, FormRules
from flowapp.web.schema_tree import SchemaTree
from ir.codes import CODES
from ir.pointers import Pointer
from ir.schema import schema_document
from tests.ir.cases import list_cases

PROJECT = Path(__file__).parents[3]
DOCS = PROJECT / "docs"
PAGES = sorted(
    path.parent.name if path.stem == INDEX and path.parent != DOCS else path.stem for path in DOCS.rglob("*.md")
)
FILES = sorted([*DOCS.rglob("*.md"), *PROJECT.glob("*.md")])
SOURCES = [path for name in ("ir", "executors", "flowapp", "templates") for path in (PROJECT / name).rglob("*.*")]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
IDS = re.compile(r' id="([^"]+)"')


def anchors(name: str) -> set[str]:
    return set(IDS.findall(str(read_page(name))))


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")


def headings(path: Path) -> set[str]:
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PROJECT)))
def test_every_link_leads_to_a_file_and_a_heading(path):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(), flags=re.DOTALL)
    broken = []
    for target in LINK.findall(text):
        file, _, section = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        if "://" not in target and (not linked.exists() or (section and section not in headings(linked))):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("name", PAGES)
def test_every_link_of_a_page_leads_to_a_page(name):
    page = str(read_page(name))
    internal = re.findall(r'href="(/docs/[^"#]*)(?:#([^"]*))?"', page)
    known = {page_url(other): other for other in PAGES}

    assert [url for url, section in internal if url not in known] == []
    assert [url for url, section in internal if section and section not in anchors(known[url])] == []
    assert not re.findall(r'href="[^"/#h][^"]*"', page)


@pytest.mark.parametrize("name", PAGES)
def test_no_id_of_a_page_is_repeated_and_every_column_has_a_heading(name):
    page = str(read_page(name))
    ids = IDS.findall(page)

    assert len(ids) == len(set(ids))
    assert "<th></th>" not in page


def test_the_index_lists_every_page_but_single_decisions():
    listed = {page.name for group in list_groups() for page in group.pages}

    assert listed | {INDEX} == {name for name in PAGES if not re.match(r"\d{4}-", name)} - {"decisions"} | {INDEX}


def test_every_page_that_a_message_names_exists():
    texts = (path.read_text() for path in SOURCES if path.suffix in (".py", ".html"))
    named = set(chain.from_iterable(re.findall(r"\bdocs/[\w/-]+\.md", text) for text in texts))

    assert [name for name in sorted(named) if not (PROJECT / name).is_file()] == []


@pytest.mark.parametrize("code", [*CODES, *ERROR_CODES, *WARNING_CODES, *OF_RUNS, *ALERT_KINDS])
def test_every_code_links_to_its_description(code):
    [anchor] = re.findall(r'href="/docs/errors/#([^"]+)"', code_link(code))

    assert anchor in anchors("errors")


def test_an_unknown_code_has_no_link():
    assert code_link("<b>") == "<code>&lt;b&gt;</code>"


def all_fields(fields: list[Field]) -> list[Field]:
    return [f for field in fields for f in (field, *all_fields([*field.children, *field.folded]))]


@pytest.mark.parametrize("case", list_cases("valid"), ids=lambda case: case.name)
def test_every_form_field_links_to_the_reference(case):
    schema = schema_document()
    form = FormMaker(SchemaTree(schema), (), FormRules())
    fields = all_fields(form.fields(schema, case.parse().document, Pointer()))
    urls = {field_url(field.definition, field.name) for field in fields if field.definition}

    assert urls
    assert {url.partition("#")[2] for url in urls} - anchors("document") == set()
    assert [field.path for field in fields if not field.definition and field.widget != "item"] == []


@pytest.mark.django_db
def test_a_page_is_shown_to_anybody_who_has_signed_in_and_lists_the_others(client, django_user_model):
    client.force_login(django_user_model.objects.create_user("dora@example.com"))
    page = client.get("/docs/cdc-mirror/").content.decode()

    assert '<h2 id="what-to-use-instead">What to use instead</h2>' in page
    assert '<a href="/docs/load-a-csv/">Load a CSV into a table</a>' in page
    assert "Load a CSV into a table" in client.get("/docs/").content.decode()
    assert client.get("/docs/no-such-page/").status_code == 404
