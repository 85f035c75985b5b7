"""PostgreSQL as a destination."""

from executors.destinations.postgres.handler import PostgresDestination as PostgresDestination
