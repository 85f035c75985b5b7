"""What starts when nothing is configured: PostgreSQL and Valkey from wheels, and the processes of `flow up`.

Nothing is imported here: `flow validate` needs `home` alone and must not wait for database drivers.
"""
