"""The process in which an engine runs the queries of users. It starts often, so it imports nothing of Flow but
`database_files.stamp`, and a package only where it is used."""
