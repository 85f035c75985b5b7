"""The pipeline document: its types, its schema and its one parser. Imports neither Django nor Spark nor a driver."""

from ir.diagnostics import Diagnostic, InvalidPipeline, Skipped
from ir.parse import Parsed, parsePipelineIR

__all__ = ["Diagnostic", "InvalidPipeline", "Parsed", "Skipped", "parsePipelineIR"]
