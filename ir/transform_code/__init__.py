"""Transforms written as code: the recording of a builder becomes operations of the document, in a separate file to
which manifests refer."""
