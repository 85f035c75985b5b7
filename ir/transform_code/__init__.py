"""Transforms that are written as code: what a builder recorded becomes operations of the document, in a file of their
own that manifests refer to."""
