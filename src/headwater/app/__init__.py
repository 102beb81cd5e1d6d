"""Use cases and wiring: the only room that names concrete parts.

- config/: the YAML file as frozen settings. url.py, server_url.py: source URLs. registry.py: which
  parts exist; options.py: what a configuration tells its source.
- pipeline.py: a configuration as running parts, one drain.
- api.py, capturing.py, consuming.py: the Python API.
- inspect.py, doctor/, tail.py, logs.py, starter.py: what the commands ask. proof/: tables compared
  with their source; proven.py: when they were last equal.
- database.py for SQLite files, postgres/ for servers: looking into what belongs to others.
- demo/: a shop, a writer, and the proof. spark/: the embedded log for the Spark room.

Holds: INV-12 in what it shows. May import: every room below it.
"""
