"""Databases that are one file. Their engines run in processes of their own, which import only `engine` and `stamp`."""
