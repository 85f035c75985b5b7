"""Pipelines as files: a project of manifests in TOML and JSON, and their documents. This package reads no files: a
project is a set of named texts."""
