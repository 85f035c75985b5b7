"""A server of Google Cloud Storage for the tests."""
