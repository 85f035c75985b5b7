"""Reads records of web services, page by page."""
