"""Pipelines as files: a project of manifests in TOML and JSON, and the documents that they stand for. No file is read
here: a project is a set of named texts."""
