"""PostgreSQL for the commands: what its source adds to a pipeline beyond reading changes.

options.py names the settings without loading the driver, settings.py turns them into the source's
own; tables.py looks into a database, setup.py prepares one, slots.py lists and drops slots.
"""
