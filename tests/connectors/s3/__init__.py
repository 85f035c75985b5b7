"""An S3 server for the tests, and how they put files into its bucket."""
