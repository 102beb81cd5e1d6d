"""How fast PostgreSQL is captured into the durable log, against the server's own clients."""
