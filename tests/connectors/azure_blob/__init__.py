"""An Azure Blob server for the tests."""
