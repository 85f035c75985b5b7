"""Services that start if none are configured: PostgreSQL and Valkey from wheels, and the processes of `flow up`.

Nothing is imported here: `flow validate` needs only `home` and must not load database drivers."""
