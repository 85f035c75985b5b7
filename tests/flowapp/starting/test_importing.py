"""Importing a document: as a file or as text, in JSON or TOML."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from flowapp.pipelines.models import PipelineVersion
from tests.flowapp.conftest import make_document
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
IMPORT = "/w/alices-team/new-pipeline/import/"
TOML = """
kind = "pipeline"
version = "1.0"
id = "imported"
nodes = [
  {id = "files", kind = "source", connector = "local_fs", config = {path = "in", \
   pattern = {type = "glob", value = "*.csv"}, format = {type = "csv"}}},
  {id = "load", kind = "target", inputs = ["files"], connector = "postgres", connection = "warehouse", \
   schema = "public", table = "numbers", loadMode = "append"},
]
"""
TEXT = json.dumps(make_document("imported"))


@pytest.fixture
def client(as_, connected):
    return as_("editor")


@pytest.mark.parametrize(
    "given",
    [
        {"text": TEXT},
        {"text": TOML},
        {"file": SimpleUploadedFile("p.json", b"\xef\xbb\xbf" + TEXT.encode())},
    ],
    ids=["text", "toml", "file"],
)
def test_a_document_becomes_a_pipeline(client, given):
    assert client.post(IMPORT, given)["Location"] == "/w/alices-team/pipelines/imported/"
    assert PipelineVersion.objects.get().message == "Imported"


@pytest.mark.parametrize(
    ("text", "words_shown"),
    [
        (TEXT.replace('"append"', '"upsert"'), "upsert needs a key in upsertKey."),
        (TEXT.replace('"warehouse"', '"other"'), "Unknown connection 'other'."),
        ("{", "Line 1"),
        ("", "The document cannot be imported."),
    ],
)
def test_what_is_wrong_is_listed_and_the_text_stays(client, text, words_shown):
    answer = client.post(IMPORT, {"text": text})
    assert answer.status_code == 422
    assert words_shown in words(answer)
    assert words(answer).count(text) == 1 or not text
    assert not PipelineVersion.objects.exists()


def test_a_pipeline_that_is_there_is_not_overwritten(client, pipeline):
    answer = client.post(IMPORT, {"text": json.dumps(make_document(pipeline.slug))})
    assert (answer.status_code, PipelineVersion.objects.count()) == (422, 1)


def test_what_is_no_text_is_refused(client):
    assert "is not UTF-8 text" in words(client.post(IMPORT, {"file": SimpleUploadedFile("p.json", b"\xff\xfe")}))
