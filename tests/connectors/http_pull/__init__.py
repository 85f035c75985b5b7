"""A web server for the tests, and how they put files onto it."""
